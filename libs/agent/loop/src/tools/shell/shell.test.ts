import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import { block, makeAgent, makeContext, makeTask } from '../../../testing/harness.ts';
import { scriptedAgent } from '../../../testing/scripted-run.ts';
import { say, use } from '../../../testing/scripted-server.ts';
import { AgentConfigSchema, isContextPlaceholder } from '../../config/config-yaml.ts';

type Shell = NonNullable<z.input<typeof AgentConfigSchema>['tools']>['shell'];

const skip = existsSync('/bin/bash') ? false : 'there is no bash here';

/** What the tool answers to calls of `shell_exec`. */
async function answers(t: TestContext, ...inputs: object[]) {
  const calls = inputs.map((input): [string, object] => ['shell_exec', input]);
  const run = await scriptedAgent(t, [use(calls), say('Done.')]);
  const { requests, result } = await run();
  const told = requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
  return { told: told.map(({ content }) => String(content)), result };
}

/** What a command prints, run by an agent with this configuration. */
async function printed(t: TestContext, command: string, shell: Shell): Promise<string> {
  const script = [use([['shell_exec', { command }]]), say('Done.')];
  const run = await scriptedAgent(t, script, { tools: { shell } });
  const { requests } = await run();
  const offered = requests[0]?.tools?.find((tool) => tool.function.name === 'shell_exec');
  const told = requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content;
  return `${JSON.stringify(offered?.function)} ${String(told)}`;
}

test('commands run in bash where it is there, and the model is told the shell', { skip }, async (t) => {
  const seen = await printed(t, 'a=(x y); [[ "$a" == x ]] && echo "bash $BASH_VERSION"', {});
  assert.match(seen, /Run a command with bash in the workspace.*bash \d/);
});

test('tools.shell.path names the shell', async (t) => {
  const seen = await printed(t, 'echo "<$BASH_VERSION>"', { path: '/bin/sh' });
  assert.match(seen, /Run a command with sh in the workspace.*<>/);
});

test('a command runs in the folder that it names, and evidence has it', async (t) => {
  const folder = "it's a folder";
  const { told, result } = await answers(
    t,
    { command: `mkdir "${folder}"; mkdir ./-P` },
    { command: 'touch here\nls $(pwd | wc -l)*; pwd', cwd: folder },
    { command: 'pwd', working_directory: '-P' },
    { command: 'pwd; touch ../../wrong', cwd: 'nowhere' },
    { command: 'ls; cat here', workdir: '.' },
  );
  assert.match(told[1] ?? '', /it's a folder\\n/);
  assert.match(told[2] ?? '', /\/-P\\n.*working_directory is read as cwd/);
  assert.match(told[3] ?? '', /"exit_code":[12],.*nowhere/);
  assert.doesNotMatch(told[3] ?? '', /stdout/, 'nothing of the command runs elsewhere');
  assert.match(told[4] ?? '', /it's a folder/);
  const commands = result.evidence?.map(({ detail }) => detail) ?? [];
  assert.ok(commands.includes("cd './-P' || exit\npwd"), commands.join());
});

test('a list of words is a command, and that of a shell its script', async (t) => {
  const { told, result } = await answers(
    t,
    { cmd: ['bash', '-lc', 'echo "$((1 + 1))" && echo x'] },
    { command: ['printf', '<%s>', "it's $HOME", '', 'a=b'], workdir: '.' },
    { command: ['sh', '-c', 'echo $0', 'name'] },
    { command: [] },
  );
  assert.match(told[0] ?? '', /"2\\nx\\n".*the list of words is read as a command line/);
  assert.match(told[1] ?? '', /<it's \$HOME><><a=b>/);
  assert.match(told[2] ?? '', /"name\\n"/);
  assert.match(told[3] ?? '', /^wrong input: .*expected string/);
  assert.equal(result.evidence?.[0]?.detail, 'echo "$((1 + 1))" && echo x');
});

test('a parameter that would change what a command does is not dropped', async (t) => {
  const { told } = await answers(
    t,
    { command: 'echo ran', timeout: 600_000 },
    { command: 'echo ran', run_in_background: true },
    { command: 'echo ran', env: { A: 'b' } },
    { command: 'echo ran', description: 'why', runInBackground: false, env: {} },
  );
  assert.match(told[0] ?? '', /^wrong input: timeout is not supported: give timeout_s, in seconds/);
  assert.match(told[1] ?? '', /^wrong input: run_in_background is not supported: shell_start/);
  assert.match(told[2] ?? '', /^wrong input: env is not supported: set variables/);
  assert.match(told[3] ?? '', /ran.*unknown and ignored: description, runInBackground, env/);
});

test('offline/runbook has sh, as its blocks say', async (t) => {
  const agent = await makeAgent(t);
  const context = makeContext();
  const { status } = await agent.executor.run(makeTask(block('sh', 'echo "<$BASH_VERSION>"')), context);
  assert.equal(status, 'done');
  assert.match(JSON.stringify(context.checkpoints.at(-1)), /"stdout":"<>\\n"/);
});

test('a shell that commands cannot run is refused at the start, with its key', async (t) => {
  for (const path of ['/nowhere/zsh', '/etc/passwd', '/bin/true']) {
    const refused = (error: unknown): boolean =>
      error instanceof FleetError &&
      error.code === 'CONFIG_INVALID' &&
      error.message.startsWith(`config.yaml tools.shell.path: commands cannot run ${path} as a shell`);
    const config = {
      ...{ model: 'openai-compatible/m', base_url: 'http://127.0.0.1:9/v1' },
      tools: { shell: { path } },
    };
    await assert.rejects(makeAgent(t, config), refused, path);
  }
});

test('tools.shell.env gives commands variables, and nothing of the gateway', async (t) => {
  process.env.FLEET_TEST_SHELL = 'of the gateway';
  t.after(() => delete process.env.FLEET_TEST_SHELL);
  const env = { CI: 'true', GREETING: 'it\'s $HOME; "x"', PATH: '/usr/local/bin:/usr/bin:/bin' };
  const seen = await printed(t, 'echo "$CI|$GREETING|$PATH|$FLEET_TEST_SHELL|"', { env });
  assert.ok(seen.includes(JSON.stringify(`true|${env.GREETING}|${env.PATH}||\n`).slice(1, -1)), seen);
});

test('variables that the gateway sets, and placeholders of its environment, are refused', () => {
  const problem = (env: Record<string, string>): string => {
    const parsed = AgentConfigSchema.safeParse({ tools: { shell: { env } } });
    return parsed.success ? 'none' : JSON.stringify(parsed.error.issues);
  };
  assert.equal(problem({ CI: 'true' }), 'none');
  for (const name of ['HOME', 'TMPDIR', 'FLEET_COMMAND_ID', 'GIT_CONFIG_COUNT'])
    assert.match(problem({ [name]: 'x' }), /is set by the gateway/, name);
  assert.match(problem({ 'A B': 'x' }), /must be a variable name/);
  assert.match(problem({ TOKEN: `\${ANTHROPIC_API_KEY}` }), /must be a literal value/);
  assert.ok(isContextPlaceholder(['tools', 'shell', 'env', 'TOKEN'], 'ANTHROPIC_API_KEY'));
  assert.ok(!isContextPlaceholder(['tools', 'shell', 'path'], 'ANTHROPIC_API_KEY'));
});

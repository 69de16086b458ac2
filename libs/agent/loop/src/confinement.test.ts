import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { COMMAND_ENV, type CommandResult, createConfinement, runCommand } from '@hermes-fleet/workspace';
import {
  cannotConfine,
  commandsFolder,
  makePlace,
  mayChangeUsers,
  nodeForOthers,
  SECRET,
} from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';

for (const confine of ['bubblewrap', 'uid'] as const) {
  const skip = cannotConfine(confine);

  test(`a command reads neither the token, the ledger nor the gateway's environment (${confine})`, {
    skip,
  }, async (t) => {
    process.env.FLEET_TEST_SECRET = SECRET;
    t.after(() => delete process.env.FLEET_TEST_SECRET);
    // Without compaction, the test sees everything that the commands print.
    const hooks = { compactSuccessOutput: false };
    const agent = await makeAgent(t, { tools: { shell: { confine } }, hooks });
    const { stateDir } = agent.place;
    const gateway = `/proc/${process.pid}`;
    const attempts = [
      `cat ${stateDir}/ledger.db`,
      `cat ${stateDir}/token`,
      `ls ${stateDir}`,
      `cat ${gateway}/environ`,
      `cat ${gateway}/root${stateDir}/token`,
      `cat ${gateway}/cwd/package.json`,
      `cat ${gateway}/fd/*`,
      'cat /proc/*/environ',
      'env',
      `ln ${stateDir}/token stolen`,
      `ln -s ${stateDir}/token link; cat link`,
      `mount --bind ${stateDir} .`,
      'su -c id',
    ];
    const script = `${attempts.map((line) => `( ${line} )`).join('; ')}; echo written > proof; git log --oneline; id -u`;
    const context = makeContext();
    const result = await agent.executor.run(makeTask(block('sh', script)), context);
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.deepEqual(result.artifacts.filesChanged, ['link', 'proof']);
    const seen = JSON.stringify(context.checkpoints);
    assert.match(seen, /Start the workspace/);
    if (mayChangeUsers) assert.match(seen, /\\n[1-9]\d{3,}\\n/);
    assert.doesNotMatch(seen, new RegExp(SECRET));
    assert.equal(readFileSync(join(stateDir, 'token'), 'utf8'), SECRET);
  });

  test(`the gateway does not run git hooks and filters that a command planted (${confine})`, {
    skip,
  }, async (t) => {
    const agent = await makeAgent(t, { tools: { shell: { confine } } });
    const evil = join(agent.place.workspaceRoot, '..', 'pwned');
    const plant = [
      'git config core.fsmonitor "touch ../../../pwned"',
      'git config filter.x.clean "touch ../../../pwned; cat"',
      'd=$(git rev-parse --git-common-dir)',
      'printf "#!/bin/sh\\ntouch ../../../pwned\\n" > $d/hooks/pre-commit; chmod +x $d/hooks/pre-commit',
      'echo "* filter=x" > .gitattributes',
      'true',
    ].join('; ');
    const result = await agent.executor.run(makeTask(block('sh', plant)), makeContext());
    assert.equal(result.status, 'done');
    assert.deepEqual(result.artifacts.filesChanged, ['.gitattributes']);
    assert.equal(existsSync(evil), false);
    const next = await agent.executor.run(makeTask(block('x.txt', 'x')), makeContext());
    assert.deepEqual(next.artifacts.filesChanged, ['x.txt']);
    assert.equal(existsSync(evil), false);
  });

  test(`launch starts a long-lived process that is confined as well (${confine})`, { skip }, async (t) => {
    const place = makePlace(t);
    const confinement = await createConfinement({ confine, ...place, clock: systemClock, log: silentLog });
    const script = `try { require('fs').readFileSync(${JSON.stringify(join(place.stateDir, 'token'))}); console.log('leak') } catch (error) { console.log(error.code) }; process.stdin.resume()`;
    // bubblewrap shows the commands this Node wherever it lies.
    const node = confine === 'uid' ? nodeForOthers(t) : process.execPath;
    const line = confinement.launch(node, ['-e', script]);
    const child = spawn(line.command, line.args, { env: COMMAND_ENV, stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    assert.match(String(output), /ENOENT|EACCES/);
    child.stdin.end();
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  });

  test(`no process survives a time-out, an output limit or a normal exit (${confine})`, {
    skip,
  }, async (t) => {
    const place = makePlace(t);
    const confinement = await createConfinement({ confine, ...place, clock: systemClock, log: silentLog });
    const contexts = await commandsFolder(place, confinement);
    const run = (
      script: string,
      limits: { timeoutMs?: number; maxBytes?: number } = {},
    ): Promise<CommandResult> => {
      const line = confinement.wrap('/bin/sh', ['-c', script], { writable: [contexts], readOnly: [] });
      const defaults = { timeoutMs: 30_000, keepBytes: 1000, maxBytes: 1e6, clock: systemClock };
      return runCommand(line, { cwd: contexts, env: COMMAND_ENV, ...defaults, ...limits });
    };
    // A process that holds the pipe open keeps its reader from seeing the end.
    const endOf = (name: string): Promise<unknown> => {
      const pipe = join(contexts, name);
      execFileSync('mkfifo', ['-m', '666', pipe]);
      return promisify(execFile)('cat', [pipe], { timeout: 20_000 });
    };
    const beats = (name: string): string =>
      `(setsid sh -c 'exec > ${name}; : > ${name}.started; while :; do echo x; sleep 0.02; done' &)
       until [ -e ${name}.started ]; do sleep 0.02; done`;
    const ended = endOf('end');
    assert.equal((await run(beats('end'))).exitCode, 0);
    await ended;
    const late = endOf('late');
    assert.equal((await run(`${beats('late')}; sleep 3600`, { timeoutMs: 2000 })).killed, 'timeout');
    await late;
    const loud = await run('yes', { maxBytes: 100_000 });
    assert.equal(loud.killed, 'output');
    assert.match(loud.stdout, /bytes left out/);
    assert.ok(loud.stdout.length < 1200);
  });
}

test('a gateway that changes users refuses a state directory that others can read', async (t) => {
  if (!mayChangeUsers) return t.skip('this user may not change users');
  const place = makePlace(t);
  chmodSync(place.stateDir, 0o755);
  const made = createConfinement({ confine: 'uid', ...place, clock: systemClock, log: silentLog });
  await assert.rejects(made, { code: 'CONFIG_INVALID', message: /mode 0700/ });
});

test('without a confinement method, shell_exec is not offered and a note says how to enable it', async (t) => {
  const place = makePlace(t);
  const absent = join(place.stateDir, 'absent');
  const programs = { bwrap: '/bin/false', setpriv: absent, landlock: absent };
  const parts = { ...place, programs, clock: systemClock, log: silentLog };
  const confinement = await createConfinement({ confine: 'auto', ...parts });
  const agent = await makeAgent(t, {}, { place, confinement });
  assert.equal(agent.capabilities().tools.includes('terminal'), false);
  assert.ok(
    agent.notes.some((note) => /shell_exec is off.*install bubblewrap/.test(note)),
    agent.notes.join(),
  );
  const result = await agent.executor.run(makeTask(block('a.txt', 'x')), makeContext());
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
  const asked = createConfinement({ confine: 'bubblewrap', ...parts });
  await assert.rejects(asked, { code: 'CONFIG_INVALID', message: /use auto/ });
});

test('a state directory that commands could reach is refused', async (t) => {
  const place = makePlace(t);
  const link = join(place.stateDir, '..', 'link');
  symlinkSync(place.workspaceRoot, link);
  mkdirSync(join(place.workspaceRoot, 'state'), { recursive: true });
  const parts = { confine: 'auto', ...place, clock: systemClock, log: silentLog } as const;
  for (const reachable of [
    { stateDir: join(place.workspaceRoot, 'state') },
    { stateDir: join(place.workspaceRoot, 'not-made-yet') },
    { stateDir: join(link, 'state') },
    { repositoryPath: join(place.stateDir, '..') },
  ]) {
    const made = createConfinement({ ...parts, ...reachable });
    await assert.rejects(made, { code: 'CONFIG_INVALID', message: /inside the workspace/ });
  }
});

for (const confine of ['bubblewrap', 'uid'] as const)
  test(`a command cannot read the key that signs commits (${confine})`, {
    skip: cannotConfine(confine),
  }, async (t) => {
    const place = makePlace(t);
    const keys = join(place.stateDir, '..', 'keys');
    mkdirSync(keys);
    const key = join(keys, 'key');
    writeFileSync(key, SECRET, { mode: 0o600 });
    const config = { tools: { shell: { confine } }, workspace: { commit: { signing_key_file: key } } };
    const agent = await makeAgent(t, { ...config, hooks: { compactSuccessOutput: false } }, { place });
    const brief = block('sh', `cat ${key}; ln -s ${key} link; cat link; ln ${key} stolen; echo x > tried`);
    const result = await agent.executor.run(makeTask(brief), makeContext());
    assert.deepEqual(result.artifacts.filesChanged, ['link', 'tried']);
    assert.doesNotMatch(JSON.stringify(result), new RegExp(SECRET));
  });

test('a secret file that commands could reach is refused', async (t) => {
  const place = makePlace(t);
  const keys = join(place.stateDir, '..', 'keys');
  mkdirSync(join(place.workspaceRoot, 'sub'), { recursive: true });
  mkdirSync(join(keys, 'sub'), { recursive: true });
  const [inside, key, link] = [
    join(place.workspaceRoot, 'sub/key'),
    join(keys, 'sub/key'),
    join(keys, 'link'),
  ];
  for (const file of [inside, key]) writeFileSync(file, SECRET, { mode: 0o600 });
  symlinkSync(inside, link);
  const parts = { confine: 'unconfined', ...place, clock: systemClock, log: silentLog } as const;
  const secret = (file: string) => [{ key: 'workspace.repositories.web.token_file', file }];
  for (const reachable of [
    { secretFiles: secret(inside) },
    { secretFiles: secret(link) },
    { secretFiles: secret(key), repositoryPath: keys },
    { secretFiles: secret(key), readable: [keys] },
    { secretFiles: secret(key), readable: [key] },
    { secretFiles: secret('/usr/bin/env') },
  ])
    await assert.rejects(createConfinement({ ...parts, ...reachable }), {
      code: 'CONFIG_INVALID',
      message: /workspace\.repositories\.web\.token_file: .* is in .*, which commands can read; move it/,
    });
  await createConfinement({ ...parts, secretFiles: secret(key), readable: [join(keys, 'su')] });
});

test('a missing repository is a configuration error', async (t) => {
  const parts = { confine: 'auto', ...makePlace(t), clock: systemClock, log: silentLog } as const;
  const made = createConfinement({ ...parts, repositoryPath: join(parts.stateDir, 'nowhere') });
  await assert.rejects(made, {
    code: 'CONFIG_INVALID',
    message: /workspace\.path: .* does not exist or cannot be read/,
  });
});

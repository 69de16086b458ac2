import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AgentConfigSchema, createMcpTools, isContextPlaceholder } from '@hermes-fleet/loop';
import { block, makeAgent, makeContext, makeTask } from '@hermes-fleet/loop/testing';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { loadYamlConfig } from '@hermes-fleet/service';
import { createConfinement } from '@hermes-fleet/workspace';
import { cannotConfine, closedToOthers, makePlace, nodeForOthers } from '@hermes-fleet/workspace/testing';
import { openMcp } from './open-mcp.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FIXTURE = join(ROOT, 'libs/core/mcp/testing/stdio-server.ts');
const FILESYSTEM = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/package.json'));
const RECHECK_MS = 15_000;
const now = { maxAgeMs: 0, timeoutMs: 60_000 };

type Confine = 'bubblewrap' | 'uid';
type Servers = Record<string, Record<string, unknown>>;

/** The MCP servers of a shipped profile, as its config.yaml has them. */
function shipped(workspaceDir: string) {
  const values: Readonly<Record<string, string>> = { HERMES_WORKSPACE_DIR: workspaceDir };
  const file = join(ROOT, 'deploy/profiles/neo/config.yaml');
  const env = { read: (name: string) => values[name] };
  return loadYamlConfig({ file, schema: AgentConfigSchema, env, isKept: isContextPlaceholder }).value.mcp
    .servers;
}

interface ProfileOptions {
  readonly servers?: (node: string, workspaceRoot: string) => Servers;
  readonly clock?: Clock;
  readonly onEvent?: () => void;
}

/** An agent with MCP servers, as a profile has them. */
async function makeProfile(
  t: TestContext,
  confine: Confine,
  { servers, clock = systemClock, onEvent = () => {} }: ProfileOptions = {},
) {
  const place = makePlace(t);
  const node = confine === 'uid' ? nodeForOthers(t) : process.execPath;
  const readable = [ROOT, dirname(node)];
  const confinement = await createConfinement({
    confine,
    ...place,
    readable,
    clock: systemClock,
    log: silentLog,
  });
  const found = servers?.(node, place.workspaceRoot) ?? shipped(place.workspaceRoot);
  const config = AgentConfigSchema.parse({ mcp: { servers: found } });
  const pool = await openMcp({ config: config.mcp, confinement, clock, log: silentLog });
  t.after(() => pool.close());
  const sources = [createMcpTools(pool, config, { clock: systemClock, log: silentLog }).source];
  const { executor } = await makeAgent(
    t,
    { tools: { shell: { confine } } },
    {
      place,
      confinement,
      sources,
      release: pool.release,
    },
  );
  await Promise.all(
    pool.names().map(async (name) => {
      const { state, detail } = await pool.probe(name, now);
      assert.equal(state, 'ok', `${name}: ${detail}`);
    }),
  );
  /** Runs a task of blocks, and returns its report. */
  const run = async (contextId: string, ...blocks: readonly string[]): Promise<string> =>
    (await executor.run(makeTask(blocks.join('\n'), { contextId }), makeContext({ onEvent }))).text ?? '';
  return { pool, run, place };
}

const tool = (name: string, input: object = {}): string => block(`tool mcp__${name}`, JSON.stringify(input));

const fixtures = (node: string): Servers => ({
  own: { command: node, args: [FIXTURE], scope: 'task' },
  shared: { command: node, args: [FIXTURE], scope: 'profile' },
});

/** The process and all its descendants. */
function family(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  const children = existsSync(file) ? readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number) : [];
  return [pid, ...children.flatMap(family)];
}

const isThere = (pid: number): boolean => {
  try {
    return !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

const untilGone = async (pid: number): Promise<void> => {
  while (isThere(pid)) await systemClock.sleep(10);
};

/** Processes with this text in their command line. */
const processesWith = (text: string): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isThere(Number(name)))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(text);
      } catch {
        return false;
      }
    });

for (const confine of ['bubblewrap', 'uid'] as const) {
  const skip =
    cannotConfine(confine) ||
    (confine === 'uid' && (closedToOthers(FIXTURE) || closedToOthers(process.execPath)));

  test(`the shipped filesystem server reaches the tree of the task's own context, and nothing of another one (${confine})`, {
    skip,
    timeout: 120_000,
  }, async (t) => {
    const { pool, run } = await makeProfile(t, confine);
    const probes = pool.pids();
    const victim = await run('victim', block('secret.txt', 'the victim knows'), block('sh', 'pwd; ls -a'));
    const dir = /^ +(\/.*)$/m.exec(victim)?.[1] ?? assert.fail(victim);
    const secret = join(dir, 'secret.txt');
    const own = await run(
      'attacker',
      tool('filesystem__write_file', { path: 'own.txt', content: 'ordinary work' }),
      tool('filesystem__read_text_file', { path: 'own.txt' }),
      tool('filesystem__list_allowed_directories'),
      block('sh', 'cat own.txt'),
    );
    assert.match(own, /called mcp__filesystem__read_text_file: ok\n.*ordinary work/);
    assert.match(own, /ran `cat own.txt`: exit code 0\n.*ordinary work/);
    assert.doesNotMatch(own, /list_allowed_directories: ok\n.*victim/);
    const attempts = [
      tool('filesystem__read_text_file', { path: secret }),
      tool('filesystem__read_text_file', { path: '../victim/secret.txt' }),
      tool('filesystem__list_directory', { path: dir }),
      tool('filesystem__write_file', { path: secret, content: 'rewritten' }),
      tool('filesystem__search_files', { path: dirname(dir), pattern: 'secret*' }),
    ];
    for (const attempt of attempts) {
      const report = await run('attacker', attempt);
      assert.match(report, /called mcp__filesystem__\w+: failed/, attempt);
      assert.doesNotMatch(report, /the victim knows/, attempt);
    }
    const link = await run(
      'attacker',
      block('sh', `ln -s ${dir} link`),
      tool('filesystem__read_text_file', { path: 'link/secret.txt' }),
    );
    assert.doesNotMatch(link, /the victim knows/);
    assert.equal(readFileSync(secret, 'utf8').trim(), 'the victim knows');
    assert.deepEqual(pool.pids(), probes, 'an instance survived its task');
    assert.deepEqual(processesWith(dir), []);
  });

  test(`all tasks share the shipped memory server (${confine})`, { skip, timeout: 120_000 }, async (t) => {
    const { run, place } = await makeProfile(t, confine);
    const entities = [{ name: 'neo', entityType: 'peer', observations: ['is the one'] }];
    assert.match(await run('a', tool('memory__create_entities', { entities })), /create_entities: ok/);
    assert.match(await run('b', tool('memory__read_graph')), /is the one/);
    assert.ok(existsSync(join(place.workspaceRoot, 'mcp/memory.jsonl')));
  });

  test(`no process of an instance survives its task, and a crash would leave a record of it (${confine})`, {
    skip,
    timeout: 120_000,
  }, async (t) => {
    const seen: number[] = [];
    const records = { count: () => 0 };
    const { run, place } = await makeProfile(t, confine, {
      servers: fixtures,
      onEvent: () => void seen.push(records.count()),
    });
    records.count = () => readdirSync(join(place.stateDir, 'commands')).length;
    const report = await run('a', tool('own__detach'), tool('own__pid'), tool('own__pid'));
    const [first, second] = [...report.matchAll(/pid: ok\n\s*(\d+)/g)].map(([, pid]) => pid);
    assert.ok(first !== undefined && first === second, report);
    const [loop] = /setInterval\(.*1e6, "[^"]*"\)/.exec(report.replaceAll('\\"', '"')) ?? assert.fail(report);
    while (processesWith(loop).length > 0) await systemClock.sleep(10);
    assert.ok(seen.some((count) => count > 0));
    assert.equal(records.count(), 0);
    const again = await run('a', tool('own__echo'));
    assert.match(again, /own__echo: ok/);
  });

  test(`no server gets the environment of the gateway (${confine})`, {
    skip,
    timeout: 120_000,
  }, async (t) => {
    process.env.HERMES_TEST_SECRET = 'sk-secret';
    t.after(() => {
      delete process.env.HERMES_TEST_SECRET;
    });
    const { run } = await makeProfile(t, confine, { servers: fixtures });
    for (const name of ['own', 'shared']) {
      const report = await run('a', tool(`${name}__environment`));
      assert.match(report, /environment: ok\n.*PATH/);
      assert.doesNotMatch(report, /HERMES_TEST_SECRET|sk-secret/);
    }
  });

  test(`a shared server reaches a folder of its own and no context (${confine})`, {
    skip,
    timeout: 120_000,
  }, async (t) => {
    const script = join(dirname(FILESYSTEM), 'dist/index.js');
    const { pool, run, place } = await makeProfile(t, confine, {
      servers: (node, root) => ({ old: { command: node, args: [script, root], scope: 'profile' } }),
    });
    const { workspaceRoot } = place;
    const victim = await run('victim', block('secret.txt', 'the victim knows'), block('sh', 'pwd'));
    const dir = /^ +(\/.*)$/m.exec(victim)?.[1] ?? assert.fail(victim);
    const secret = join(dir, 'secret.txt');
    const limits = { signal: new AbortController().signal, timeoutMs: 60_000 };
    const call = (name: string, args: Record<string, string>) => pool.callTool('old', name, args, limits);
    const mine = join(workspaceRoot, 'mcp/notes.txt');
    assert.equal((await call('write_file', { path: mine, content: 'kept' })).isError, false);
    assert.equal(readFileSync(mine, 'utf8'), 'kept');
    for (const [name, args] of [
      ['read_text_file', { path: secret }],
      ['write_file', { path: secret, content: 'rewritten' }],
      ['list_directory', { path: join(workspaceRoot, 'contexts') }],
      ['list_directory', { path: dir }],
      ['write_file', { path: join(dir, 'planted.txt'), content: 'x' }],
      ['write_file', { path: join(workspaceRoot, 'contexts/planted.txt'), content: 'x' }],
    ] as const) {
      const { isError, content } = await call(name, args);
      assert.ok(isError, `${name}: ${content}`);
    }
    assert.equal(readFileSync(secret, 'utf8').trim(), 'the victim knows');
  });

  test(`a server that is stopped is killed with all its processes, and started anew (${confine})`, {
    skip,
    timeout: 180_000,
  }, async (t) => {
    const due = new Set<() => void>();
    const clock: Clock = {
      ...systemClock,
      timer(fn, ms) {
        if (ms !== RECHECK_MS) return systemClock.timer(fn, ms);
        due.add(fn);
        return { [Symbol.dispose]: () => void due.delete(fn) };
      },
    };
    const { pool } = await makeProfile(t, confine, { servers: fixtures, clock });
    const limits = { signal: new AbortController().signal, timeoutMs: 60_000 };
    assert.equal((await pool.callTool('shared', 'child', {}, limits)).isError, false);
    const stopped = pool.pids().flatMap(family);
    const nodes = stopped.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(FIXTURE));
    assert.ok(nodes.length >= 2);
    // The servers themselves, and not their confinement.
    for (const pid of stopped.filter((each) => family(each).length === 1)) process.kill(pid, 'SIGSTOP');
    for (const pid of nodes) process.kill(pid, 'SIGSTOP');
    const pinging = setInterval(() => {
      const ready = [...due];
      due.clear();
      for (const fn of ready) fn();
    }, 100);
    t.after(() => clearInterval(pinging));
    await Promise.all(stopped.map(untilGone));
    while (!pool.names().every((name) => pool.health()[name]?.state === 'ok')) await systemClock.sleep(50);
    assert.equal(pool.pids().length, 2);
    assert.equal(pool.pids().filter((pid) => stopped.includes(pid)).length, 0);
    assert.equal((await pool.callTool('shared', 'echo', {}, limits)).isError, false);
  });
}

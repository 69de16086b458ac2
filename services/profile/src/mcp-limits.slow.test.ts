import assert from 'node:assert/strict';
import { dirname, join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AgentConfigSchema, createMcpTools } from '@hermes-fleet/loop';
import { block, makeAgent, makeContext, makeTask } from '@hermes-fleet/loop/testing';
import { type Log, systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { createConfinement } from '@hermes-fleet/workspace';
import {
  cannotConfine,
  closedToOthers,
  commandsFolder,
  makePlace,
  nodeForOthers,
} from '@hermes-fleet/workspace/testing';
import { openMcp } from './open-mcp.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FIXTURE = join(ROOT, 'libs/core/mcp/testing/stdio-server.ts');
const LIMIT_MB = 400;
const ENDED =
  /ended: its processes used \d+ MiB of memory, and the limit is 400 \(tools\.shell\.limits\.memory_mb\)/;

type Confine = 'bubblewrap' | 'uid';

/** The servers `own` of scope task and `shared` of scope profile, which may use `LIMIT_MB`. */
async function openServers(t: TestContext, confine: Confine, log: Log = silentLog) {
  const place = makePlace(t);
  const node = confine === 'uid' ? nodeForOthers(t) : process.execPath;
  const limits = { processes: 0, memoryMb: LIMIT_MB, dataMb: 0, fileMb: 0, openFiles: 0, cpuS: 0 };
  const confinement = await createConfinement({
    confine,
    ...place,
    readable: [ROOT, dirname(node)],
    limits,
    clock: systemClock,
    log: silentLog,
  });
  const server = { command: node, args: [FIXTURE] };
  const servers = { own: { ...server, scope: 'task' }, shared: { ...server, scope: 'profile' } };
  const config = AgentConfigSchema.parse({ mcp: { servers } });
  const pool = await openMcp({ config: config.mcp, confinement, clock: systemClock, log });
  t.after(() => pool.close());
  const dir = await commandsFolder(place, confinement);
  const reach = { writable: [dir], readOnly: [] };
  const wrap = (command: string, args: readonly string[]) => confinement.wrap(command, args, reach);
  const signal = AbortSignal.timeout(60_000);
  const call = (name: string, tool: string, args: { mb?: number; in?: string; answers?: boolean } = {}) =>
    pool.callTool(name, tool, args, {
      signal,
      timeoutMs: 60_000,
      place: { context: 'a', dir, wrap },
    });
  return { pool, call, place, confinement, config };
}

for (const confine of ['bubblewrap', 'uid'] as const) {
  const skip = cannotConfine(confine) || (confine === 'uid' && closedToOthers(FIXTURE));

  test(`an instance above its memory is ended, the model is told, and the next call has a new one (${confine})`, {
    skip,
    timeout: 120_000,
  }, async (t) => {
    const log = recordingLog();
    const { pool, call } = await openServers(t, confine, log);
    assert.equal((await pool.probe('own', { maxAgeMs: 0, timeoutMs: 60_000 })).state, 'ok');
    assert.equal((await call('own', 'echo')).isError, false);
    const before = pool.pids();
    for (const where of ['child', 'server']) {
      const { isError, content } = await call('own', 'allocate', { mb: 600, in: where });
      assert.equal(isError, true);
      assert.match(content, ENDED, where);
    }
    const lost = log.entries.filter(({ message }) => /instance of an MCP server was lost/.test(message));
    assert.equal(lost.length, 2, log.messages.join('\n'));
    for (const { fields } of lost) assert.match(JSON.stringify(fields), ENDED);
    const again = await call('own', 'echo');
    assert.equal(again.isError, false, again.content);
    assert.equal(pool.pids().filter((pid) => !before.includes(pid)).length, 1);
    assert.equal(pool.health().own?.state, 'ok', 'the instance that is measured used nothing');
  });

  test(`a shared server above its memory is ended between two calls, and its health says why (${confine})`, {
    skip,
    timeout: 120_000,
  }, async (t) => {
    const log = recordingLog();
    const { pool, call } = await openServers(t, confine, log);
    const measured = await pool.probe('shared', { maxAgeMs: 0, timeoutMs: 60_000 });
    assert.equal(measured.state, 'ok', measured.detail);
    const before = pool.pids();
    const states: string[] = [];
    const { promise: recovered, resolve: recover } = Promise.withResolvers<void>();
    using _subscription = pool.onChange(() => {
      const { state = '', detail = '' } = pool.health().shared ?? {};
      // The other server changes its state, too.
      if (state === 'ok' && states.length === 0) return;
      states.push(`${state}: ${detail}`);
      if (state === 'ok') recover();
    });
    const allocated = await call('shared', 'allocate', { mb: 600, answers: true });
    assert.equal(allocated.content, 'allocating');
    await recovered;
    assert.match(states[0] ?? '', /^error: ended: its processes used/);
    assert.match(states[0] ?? '', ENDED);
    assert.match(JSON.stringify(log.entries), ENDED);
    assert.equal((await call('shared', 'echo')).isError, false);
    assert.equal(pool.pids().filter((pid) => !before.includes(pid)).length, 1);
  });

  test(`an instance that fills the disk of its context is ended, and the model is told (${confine})`, {
    skip,
    timeout: 120_000,
  }, async (t) => {
    const { pool, place, confinement, config } = await openServers(t, confine);
    const { executor } = await makeAgent(
      t,
      { tools: { shell: { confine } }, workspace: { max_mb: 60 } },
      {
        place,
        confinement,
        sources: [createMcpTools(pool, config, { clock: systemClock, log: silentLog }).source],
        release: pool.release,
      },
    );
    const { text = '' } = await executor.run(
      makeTask(block('tool mcp__own__fill', '{}'), { contextId: 'filling' }),
      makeContext({}),
    );
    assert.match(text, /ended: the files of this task take \d+ MiB of disk, and the limit is 60/);
  });
}

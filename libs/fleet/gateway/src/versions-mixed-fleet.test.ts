import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePort } from '../testing/free-port.ts';
import { dispatching } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import type { TestProfile } from '../testing/test-profile.ts';

const ports = async (names: readonly string[]): Promise<Record<string, number>> =>
  Object.fromEntries(await Promise.all(names.map(async (name) => [name, await freePort()] as const)));

/** Resolves when the orchestrator knows the peer's versions, from its announce or its agent card. */
async function knows({ peers }: TestProfile, name: string): Promise<void> {
  const known = Promise.withResolvers<void>();
  const look = (): void => {
    const peer = peers.get(name);
    if (peer?.announce || peer?.card) known.resolve();
  };
  using _listening = peers.onChange(look);
  look();
  await known.promise;
}

describe('a mixed fleet', () => {
  const SPOKEN: Record<string, readonly string[]> = {
    v20: ['2.0'],
    'v21-20': ['2.1', '2.0'],
    v21: ['2.1'],
    v30: ['3.0'],
    'v30-20': ['3.0', '2.0'],
  };

  /** Asker, worker, version of the dispatch, and version of announce and result; or blocked. */
  const ROWS = [
    ['v20', 'v20', '2.0', '2.0'],
    ['v20', 'v21-20', '2.0', '2.0'],
    ['v20', 'v21', '2.0', '2.1'],
    ['v20', 'v30', 'blocked'],
    ['v20', 'v30-20', '2.0', '2.0'],
    ['v21-20', 'v20', '2.0', '2.0'],
    ['v21-20', 'v21-20', '2.1', '2.1'],
    ['v21-20', 'v21', '2.1', '2.1'],
    ['v21-20', 'v30', 'blocked'],
    ['v21-20', 'v30-20', '2.0', '2.0'],
    ['v21', 'v20', '2.1', '2.0'],
    ['v21', 'v21-20', '2.1', '2.1'],
    ['v21', 'v21', '2.1', '2.1'],
    ['v21', 'v30', 'blocked'],
    ['v21', 'v30-20', '2.1', '2.0'],
    ['v30', 'v20', 'blocked'],
    ['v30', 'v21-20', 'blocked'],
    ['v30', 'v21', 'blocked'],
    ['v30', 'v30', '3.0', '3.0'],
    ['v30', 'v30-20', '3.0', '3.0'],
    ['v30-20', 'v20', '2.0', '2.0'],
    ['v30-20', 'v21-20', '2.0', '2.0'],
    ['v30-20', 'v21', '2.0', '2.1'],
    ['v30-20', 'v30', '3.0', '3.0'],
    ['v30-20', 'v30-20', '3.0', '3.0'],
  ] as const;

  it('uses in every pair the highest common version, or blocks', async (t) => {
    const names = Object.keys(SPOKEN);
    const askers = names.map((name) => `switch-${name}`);
    const workers = names.map((name) => `worker-${name}`);
    const agents = await ports([...askers, ...workers]);
    const only = (wanted: readonly string[]) =>
      Object.fromEntries(Object.entries(agents).filter(([name]) => wanted.includes(name)));
    const made = new Map<string, TestProfile>();
    const member = (name: string): TestProfile => made.get(name) ?? assert.fail(`no ${name}`);
    for (const version of names) {
      const name = `worker-${version}`;
      const versions = SPOKEN[version] ?? [];
      const worker = await profile(t, { name, agents: only([...askers, name]), versions });
      await worker.serve();
      made.set(name, worker);
    }
    for (const version of names) {
      const name = `switch-${version}`;
      const versions = SPOKEN[version] ?? [];
      const fleet = { orchestrate: true };
      const asker = await profile(t, { name, agents: only([...workers, name]), versions, fleet });
      asker.announcer.start();
      made.set(name, asker);
    }

    for (const [asking, working, spoken, answered] of ROWS)
      await t.test(
        `${SPOKEN[asking]} asks ${SPOKEN[working]}: ${spoken}, ${answered ?? 'version'}`,
        async () => {
          const [asker, worker] = [member(`switch-${asking}`), member(`worker-${working}`)];
          await knows(asker, worker.name);
          const own = SPOKEN[asking]?.[0] ?? '';
          const data = { protocol_version: own, routing: { target: worker.name, on_blocked: 'queue' } };
          const id = await asker.send(dispatching({}, data));
          const result = await asker.result(id);
          assert.equal(result.protocolVersion, own, 'the caller is answered in the version that it asked in');
          if (spoken === 'blocked') {
            assert.deepEqual(
              [
                result.status,
                result.tokensSpent,
                result.unmet?.map(({ kind, transient }) => [kind, transient]),
              ],
              ['blocked', 0, [['version', false]]],
            );
            return;
          }
          assert.equal(result.status, 'done', result.blockedReason ?? '');
          const remote = worker.runs.map((run) => worker.task(run)).find(({ key }) => key === id);
          assert.equal(remote?.dispatch.protocol_version, spoken);
          assert.equal(remote?.result?.protocol_version, answered);
          assert.equal(asker.peers.get(worker.name)?.announce?.protocolVersion, answered);
        },
      );
    assert.equal(ROWS.length, names.length ** 2);
  });
});

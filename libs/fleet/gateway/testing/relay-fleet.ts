import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { freePort } from './free-port.ts';
import { profile } from './profile.ts';
import { DONE, type Script } from './scripts.ts';
import type { ProfileOptions, TestProfile } from './test-profile.ts';

/** An orchestrator and its workers on real ports. */
export interface RelayFleet {
  readonly orchestrator: TestProfile;
  worker(name: string): TestProfile;
  /** Gives the orchestrator a worker's current announce. */
  hear(name: string): Promise<void>;
}

/** Starts serving workers, and an orchestrator that knows their announces and, without a script, fails if it works itself. */
export async function relayFleet(
  t: TestContext,
  workers: Record<
    string,
    Pick<
      ProfileOptions,
      | 'script'
      | 'tier'
      | 'repositories'
      | 'fleet'
      | 'ledger'
      | 'log'
      | 'contexts'
      | 'routes'
      | 'results'
      | 'bundles'
    >
  >,
  o: { fleet?: JsonObject; announce?: boolean } & Pick<
    ProfileOptions,
    'script' | 'defaultBudget' | 'ledger' | 'log' | 'tracing' | 'contexts' | 'clock' | 'bundles' | 'routes'
  > = {},
): Promise<RelayFleet> {
  const names = ['switch', ...Object.keys(workers)];
  const agents: Record<string, number> = {};
  for (const name of names) agents[name] = await freePort();
  const made: Record<string, TestProfile> = {};
  for (const [name, options] of Object.entries(workers)) {
    const each = await profile(t, { name, agents, ...options });
    await each.serve();
    made[name] = each;
  }
  const orchestrator = await profile(t, {
    name: 'switch',
    agents,
    script: o.script ?? (() => Promise.reject(new Error('the orchestrator worked itself'))),
    // The shortest pauses that backoff allows.
    random: () => 0,
    ...(o.ledger ? { ledger: o.ledger } : {}),
    ...(o.log ? { log: o.log } : {}),
    ...(o.tracing ? { tracing: o.tracing } : {}),
    ...(o.clock ? { clock: o.clock } : {}),
    ...(o.contexts ? { contexts: o.contexts } : {}),
    ...(o.bundles ? { bundles: o.bundles } : {}),
    ...(o.routes ? { routes: o.routes } : {}),
    ...(o.defaultBudget === undefined ? {} : { defaultBudget: o.defaultBudget }),
    fleet: { orchestrate: true, routing: { peer_down_after_s: 20 }, ...o.fleet },
  });
  const worker = (name: string): TestProfile => {
    const found = made[name];
    if (!found) throw new Error(`no ${name}`);
    return found;
  };
  const hear = async (name: string): Promise<void> => {
    const announce = await worker(name).gateway.freshAnnounce();
    const recorded = await orchestrator.peers.record(announce, { name });
    if (recorded.outcome !== 'recorded')
      throw new Error(`${name} was not heard: ${JSON.stringify(recorded)}`);
  };
  if (o.announce !== false) for (const name of Object.keys(workers)) await hear(name);
  return { orchestrator, worker, hear };
}

export const spending =
  (tokens: number): Script =>
  async (task, { budget }) => {
    const call = await budget.reserve({ inputTokens: tokens, maxOutputTokens: 0 });
    await call.settle({ inputTokens: tokens, outputTokens: 0, source: 'metered' });
    return { ...DONE, text: `did ${task.dispatch.brief}`, artifacts: { filesChanged: ['a.ts'] } };
  };

/** Two workers; routing prefers neo. */
export const PREFERRED_FIRST = {
  neo: { script: spending(1), tier: 'sonnet' },
  trinity: { script: spending(1), tier: 'opus' },
};

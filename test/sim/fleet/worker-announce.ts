import { type Announcer, createAnnouncer, createPeerRegistry, createSelfAnnounce } from '@hermes-fleet/peers';
import type { JsonObject } from '@hermes-fleet/protocol';
import { encodeAnnounce, type SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import { silentLog } from '@hermes-fleet/protocol/ports';
import type { Lane, Scheduler } from '@hermes-fleet/tasks';
import { randomOf } from '../world/random.ts';
import { announceClient } from './announce-client.ts';
import { instanceId } from './instance-id.ts';
import { configOf, ORCHESTRATOR, urlOf, VERSIONS } from './settings.ts';
import type { WorkerOptions } from './worker.ts';

export interface WorkerAnnounce {
  readonly announcer: Announcer;
  /** The load may have changed. */
  changed(): void;
  /** An announce in its wire form, for an answer. */
  wire(): JsonObject;
}

/** The real announces of a worker, about its lane, over the simulated network. */
export function announceSelf(options: WorkerOptions, lane: Lane, scheduler: Scheduler): WorkerAnnounce {
  const { world, traits, process, start } = options;
  const { clock } = process;
  const random = randomOf(world.seed, `announcer ${traits.name} ${start}`);
  const loadNow = () => ({
    running: lane.running,
    waiting: lane.waiting,
    freeSlots: scheduler.freePlacesOf(lane),
  });
  const config = configOf(traits.name, world.workerConfig);
  let announced = { running: 0, waiting: 0, freeSlots: -1 };
  const self = createSelfAnnounce({
    instanceId: instanceId(clock.now(), random),
    versions: VERSIONS,
    snapshot() {
      announced = loadNow();
      return {
        profile: traits.name,
        config,
        model: { id: 'simulated', tier: traits.tier, contextWindow: 200_000 },
        tools: [],
        mcpHealth: Object.fromEntries(traits.servers.map((server) => [server, 'ok' as const])),
        repoState: { branch: 'main', clean: true },
        activeTasks: announced.running,
        queuedTasks: announced.waiting,
        freeSlots: announced.freeSlots,
        sessionFresh: false,
        ready: true,
        now: clock.now(),
      };
    },
  });
  const announce = (): SessionAnnounce => self.now();
  const announcer = createAnnouncer({
    self: announce,
    peers: createPeerRegistry({
      ledger: { peers: () => [], savePeer: async () => undefined, forgetPeer: async () => undefined },
      configured: { [ORCHESTRATOR]: { url: urlOf(ORCHESTRATOR) } },
      clock,
      log: silentLog,
      self: traits.name,
      random: random.next,
    }),
    client: announceClient(world, options.self, options.orchestrator),
    clock,
    log: silentLog,
    metrics: { add: () => undefined, set: () => undefined },
    random: random.next,
  });
  return {
    announcer,
    changed() {
      const now = loadNow();
      const isSame =
        now.running === announced.running &&
        now.waiting === announced.waiting &&
        now.freeSlots === announced.freeSlots;
      if (!isSame) announcer.loadChanged();
    },
    wire: () => encodeAnnounce(announce()),
  };
}

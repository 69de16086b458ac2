import type { Ledger, TaskRecord } from '@hermes-fleet/ledger';
import type { Announcer, PeerRegistry } from '@hermes-fleet/peers';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { decodeResult } from '@hermes-fleet/protocol/handshake';
import type {
  Caller,
  Clock,
  InboundMessage,
  Log,
  RepositoryBundles,
  TaskResults,
  Tracing,
} from '@hermes-fleet/protocol/ports';
import type { createApp } from '@hermes-fleet/service';
import type { AgentContexts } from '../src/contexts/context-deletions.ts';
import type { Gateway } from '../src/gateway.ts';
import type { Script } from './scripts.ts';

export type Health = 'ok' | 'timeout' | 'error' | 'disabled';

/** Facts about a profile that a test can change while it runs. */
export interface Facts {
  /** False: every task is refused for the moment. */
  usable: boolean;
  clean: boolean;
  mcp: Record<string, Health>;
}

export interface ProfileOptions {
  readonly name?: string;
  /** The folder of the state, which outlives the profile; a temporary one when absent. */
  readonly dir?: string;
  readonly script?: Script;
  readonly fleet?: JsonObject;
  /** The ports of the test's profiles, by name. */
  readonly agents?: Readonly<Record<string, number>>;
  readonly tier?: string;
  /** The names of the repositories that the profile announces. */
  readonly repositories?: readonly string[];
  /** The script has no effects outside the process. */
  readonly isFreeOfEffects?: boolean;
  /** The script has no effect before it has saved a checkpoint of its own. */
  readonly savesBeforeEffects?: boolean;
  readonly defaultBudget?: number;
  /** As `budget.count_cache` of config.yaml. */
  readonly countCache?: boolean;
  /** The gateway's clock; the system's when absent. */
  readonly clock?: Clock;
  /** 0 to 1, for backoff; Math.random when absent. */
  readonly random?: () => number;
  /** The clock of the fleet's routes; the system's when absent. */
  readonly routesClock?: Clock;
  /** The supported handshake versions, as in GatewayOptions. */
  readonly versions?: readonly string[];
  /** The log of the gateway; silent when absent. */
  readonly log?: Log;
  /** Gets the spans of the gateway. */
  readonly tracing?: Tracing;
  /** The agent's contexts on disk; none when absent. */
  readonly contexts?: AgentContexts;
  /** Reads the results of the agent's tasks; none when absent. */
  readonly results?: TaskResults;
  /** The checkouts that callers sent; none when absent. */
  readonly bundles?: RepositoryBundles;
  /** Replaces the routes of the fleet, which a served profile has beside A2A. */
  readonly routes?: (app: ReturnType<typeof createApp>) => void;
  /** Wraps the ledger that the gateway gets. */
  readonly ledger?: (real: Ledger) => Ledger;
}

/** A profile with a real ledger, a real port once it serves, and the test's script as its executor. */
export interface TestProfile {
  readonly name: string;
  readonly port: number;
  readonly facts: Facts;
  readonly gateway: Gateway;
  readonly ledger: Ledger;
  readonly peers: PeerRegistry;
  readonly announcer: Announcer;
  /** The IDs of the tasks that the executor ran, in order. */
  readonly runs: string[];
  /** Resolves with the first of these IDs. */
  readonly firstRun: Promise<string>;
  /** Resolves when this peer has announced itself. */
  heard(peer: string): Promise<void>;
  /** The metrics in the Prometheus text format. */
  metrics(): Promise<string>;
  /** Opens the listener on the profile's port. */
  serve(): Promise<void>;
  /** Ends the profile like a crash: it writes nothing more and closes its port. */
  crash(): Promise<void>;
  /** Stops the profile before the test ends. */
  end(): Promise<void>;
  /** The folder of the profile's state. */
  readonly dir: string;
  /** Starts the profile again with the same ledger and port. */
  restart(script?: Script): Promise<void>;
  /** Accepts a message and returns the ID of its task. */
  send(message: Partial<InboundMessage>, caller?: Caller): Promise<string>;
  task(id: string): TaskRecord;
  /** Resolves with the result when the task has ended. */
  result(id: string): Promise<ReturnType<typeof decodeResult>>;
  /** Resolves with the nth event of this type. */
  event(id: string, type: string, nth?: number): Promise<JsonObject>;
  events(id: string): string[];
}

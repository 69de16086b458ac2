/**
 * The documents of the console's HTTP API (docs/console.md#api). Times are ISO 8601 in UTC, durations end in `_ms` or
 * `_s`, money is in the currency of the price table. A field whose value the console does not know is null, never a guess.
 */

import type { AnnouncedRow } from '../projection/announce.ts';

/** `GET /api/session`. */
export interface SessionDocument {
  /** Send it as `X-CSRF-Token` with every POST and DELETE. */
  readonly csrf_token: string;
  /** The caller of the token that the session holds in memory, as the entry profile names it; null without a token. */
  readonly caller: string | null;
  readonly scopes: readonly string[];
  /** The profiles that the console reaches, the orchestrator first. */
  readonly profiles: readonly string[];
  readonly version: string;
  readonly grafana_url: string | null;
  readonly trace_url: string | null;
}

/** `GET /api/status`, and the event `status` of `GET /api/stream`: what the console knows, and since when. */
export interface StatusDocument {
  readonly bus: { readonly connected: boolean; readonly reason: string | null };
  /** The newest event and announce that were projected. A view is stale after `stale_after_s` without any. */
  readonly last_event_at: string | null;
  readonly last_announce_at: string | null;
  readonly stale_after_s: number;
  /** The oldest task event in the read model, and whether older ones were already gone from NATS at the rebuild. */
  readonly reaches_back_to: string | null;
  readonly rebuilt_at: string | null;
  /** Events that are on NATS and not projected yet; null while the bus is away. */
  readonly behind: number | null;
  readonly skipped: number;
  /** When events were found to have expired on NATS before the console had read them; null if none did. */
  readonly missed_at: string | null;
}

export type TaskState =
  | 'submitted'
  | 'queued'
  | 'running'
  | 'waiting'
  | 'input_required'
  | 'paused'
  | 'done'
  | 'partial'
  | 'blocked'
  | 'error'
  | 'canceled';

/** A row of `GET /api/tasks`: one task that entered the fleet, with what its parts did. */
export interface TaskRow {
  /** The profile where it entered. */
  readonly profile: string;
  /** Its A2A task id there. */
  readonly id: string;
  /** The caller's name for it. */
  readonly task_id: string;
  readonly context_id: string;
  readonly caller: string;
  readonly state: TaskState;
  /** The peer that works on it or did last; the profile itself for its own work; null before one is chosen. */
  readonly peer: string | null;
  /** The tool that runs now, or null. */
  readonly tool: string | null;
  readonly priority: string | null;
  readonly spent_tokens: number;
  readonly budget_tokens: number | null;
  readonly submitted_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly deadline: string | null;
  /** The kind of the first unmet requirement of a blocked task, or the error code. */
  readonly reason: string | null;
  readonly reroutes: number;
  readonly cost: number | null;
}

/**
 * `GET /api/tasks?state=&profile=&peer=&caller=&reason=&priority=&q=&since=&until=&parts=&cursor=&limit=`: newest first.
 * `q` matches the beginning of id, task_id and context_id; `parts=true` also lists tasks that peers sent on. `limit` is 1 to 200, default 50.
 */
export interface TasksDocument {
  readonly tasks: readonly TaskRow[];
  readonly next_cursor: string | null;
  /** All that match, counted up to 100,000, or to 1,000 with `q`. */
  readonly total: number;
  /** False when more tasks match than `total`. */
  readonly total_is_exact: boolean;
  /**
   * How many tasks of each state match the filters other than `state`. A state that no task has is left out. Null where
   * more match than are counted.
   */
  readonly states: Readonly<Partial<Record<TaskState, number>>> | null;
}

/** One entry of a task's timeline; `data` has names, sizes, codes and outcomes only. */
export interface TimelineEntry {
  readonly at: string;
  readonly profile: string;
  /** The A2A task id at that profile. */
  readonly id: string;
  readonly type: string;
  /** One sentence of plain English that says what happened. */
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface TaskNode {
  readonly profile: string;
  readonly id: string;
  readonly task_id: string;
  readonly state: TaskState;
  readonly model: string | null;
  readonly model_tier: string | null;
  /** Own tokens, without those of its parts. */
  readonly own_tokens: number;
  readonly delegated_tokens: number;
  readonly budget_tokens: number | null;
  readonly usage: Usage | null;
  readonly cost: number | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly parts: readonly TaskNode[];
}

export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  /** Part of output_tokens. */
  readonly reasoning_tokens: number;
}

/** `GET /api/tasks/:profile/:id`. */
export interface TaskDocument {
  readonly task: TaskRow;
  readonly attempts: readonly Attempt[];
  readonly timeline: readonly TimelineEntry[];
  /** True when older entries were left out of the timeline, which has at most 2,000. */
  readonly truncated: boolean;
  readonly tree: TaskNode;
  readonly parent: { readonly profile: string; readonly id: string | null; readonly task_id: string } | null;
  readonly trace_id: string | null;
}

export interface Attempt {
  readonly at: string;
  readonly peer: string;
  readonly considered: readonly {
    readonly peer: string;
    readonly verdict: string;
    readonly score: number;
    readonly reasons: readonly string[];
  }[];
  /** The outcome: a result status, `refused`, `unreachable`, or null while it runs. */
  readonly status: string | null;
  readonly reason: string | null;
}

/** `GET /api/tasks/:profile/:id/content`, with the session's token: what the profile itself answers. */
export interface ContentDocument {
  readonly brief: string | null;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly text: string | null;
  readonly question: string | null;
  readonly artifacts: readonly {
    readonly name: string;
    readonly media_type: string | null;
    readonly bytes: number | null;
    readonly text: string | null;
    readonly href: string | null;
  }[];
}

/** `GET /api/fleet`: what each member announced last. */
export interface FleetDocument {
  readonly peers: readonly PeerRow[];
}
export interface PeerRow extends AnnouncedRow {
  readonly name: string;
  readonly announced_at: string;
  /** As `standing`, from `GET /fleet/peers` of the orchestrator with the session's token; null without one, or without an answer. */
  readonly circuit: string | null;
  readonly standing: string | null;
}

/** `GET /api/blocked?since=&until=`: of tasks that entered, not of hops. */
export interface BlockedDocument {
  readonly bucket_s: number;
  readonly buckets: readonly {
    readonly at: string;
    readonly ended: number;
    readonly blocked: Readonly<Record<string, number>>;
  }[];
  readonly ended: number;
  readonly blocked: number;
  readonly tokens_saved: number;
  readonly reasons: readonly {
    readonly kind: string;
    readonly tasks: number;
    readonly tokens_saved: number;
  }[];
  /** Requirements without which the most tasks would not have been blocked: those that were the only unmet one. */
  readonly missing: readonly {
    readonly kind: string;
    readonly name: string;
    readonly tasks: number;
    readonly alone: number;
    readonly tokens_saved: number;
  }[];
}

/** `GET /api/spending?since=&until=&by=profile|tier|model|caller|tree`. Trees are the 20 dearest that ended; the rest is `other`. */
export interface SpendingDocument {
  readonly bucket_s: number;
  readonly keys: readonly string[];
  /** For each bucket, the tokens of each key. */
  readonly buckets: readonly { readonly at: string; readonly tokens: readonly number[] }[];
  readonly totals: readonly {
    readonly key: string;
    readonly tasks: number;
    readonly tokens: number;
    readonly usage: Usage;
    readonly cost: number | null;
    readonly overruns: number;
  }[];
  readonly currency: string | null;
  /** Models without a price: their cost is not known. */
  readonly unpriced: readonly string[];
  readonly trees: readonly {
    readonly profile: string;
    readonly id: string;
    readonly task_id: string;
    readonly caller: string;
    readonly tokens: number;
    readonly budget_tokens: number | null;
    readonly cost: number | null;
  }[];
}

/** `GET /api/trader?since=&until=`. */
export interface TraderDocument {
  readonly concerns: readonly {
    readonly concern_id: string;
    readonly strategy_id: string | null;
    readonly run_state: string | null;
    readonly risk_mode: string | null;
    readonly at: string;
  }[];
  readonly bucket_s: number;
  readonly buckets: readonly { readonly at: string; readonly statuses: Readonly<Record<string, number>> }[];
  readonly refusals: readonly { readonly code: string; readonly count: number }[];
  readonly decisions: readonly {
    readonly at: string;
    readonly decision_id: string;
    readonly concern_id: string;
    readonly action: string;
    readonly status: string;
    readonly codes: readonly string[];
    readonly caller: string;
    readonly audit_seq: number | null;
  }[];
  /** `highest` is the highest head that the console ever saw; `sound` is false when a head went back or changed. */
  readonly audit: {
    readonly seq: number;
    readonly hash: string;
    readonly at: string;
    readonly highest: number;
    readonly sound: boolean;
    readonly reason: string | null;
  } | null;
}

/** The event `changed` of `GET /api/stream`, at most twice a second: which views have news. */
export interface ChangedDocument {
  readonly views: readonly ('fleet' | 'tasks' | 'blocked' | 'spending' | 'trader')[];
  /** `profile/id` of the entered tasks that changed, at most 200. */
  readonly tasks: readonly string[];
}

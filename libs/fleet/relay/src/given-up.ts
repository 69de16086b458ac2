import type { A2AClient } from '@hermes-fleet/a2a';
import { isTerminal, type Ledger, type LedgerContexts, type TaskRecord } from '@hermes-fleet/ledger';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { backoffMs, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { encodeResult, ReplySchema, type TaskResult, versionOf } from '@hermes-fleet/protocol/handshake';
import { attachments, type Clock, type Log, logWith } from '@hermes-fleet/protocol/ports';
import { delegatedEntry } from '@hermes-fleet/protocol/tokens';
import { recordFields } from '@hermes-fleet/tasks';
import { MAX_REPORTED_TOKENS } from './attempt-history.ts';
import { cancelAtPeer } from './delegation/cancel-delegation.ts';
import type { CancelOptions } from './delegation/delegate-options.ts';
import type { Delegation } from './delegation/delegation.ts';
import { executorOf } from './delegation/remote-result.ts';
import { endpointOf } from './prose/delegate-prose.ts';
import { decodeRelayState, type RelayState } from './relay-state.ts';

const CHECK_EVERY_MS = 1_000;
/** The pause between two tries at a peer that has announced itself since the last one. */
const AFTER_ANNOUNCE = { firstMs: 1_000, longestMs: 60_000 };
/** The pause at a peer that is silent: it may answer although it does not announce itself. */
const WHILE_SILENT = { firstMs: 30_000, longestMs: 600_000 };
/** A peer that is away for longer is not asked any more. */
const MAX_AGE_MS = 86_400_000;

export interface GivenUpOptions {
  readonly self: string;
  readonly ledger: Pick<
    Ledger,
    'get' | 'loadCheckpoint' | 'keptCheckpoints' | 'saveLateResult' | 'dropKeptCheckpoint'
  > & { readonly contexts: Pick<LedgerContexts, 'repositoryToken'> };
  readonly peers: Pick<PeerRegistry, 'get'>;
  readonly client: A2AClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
}

interface Tries {
  readonly count: number;
  /** Ms since the epoch, as are the two times after it. */
  readonly triedAt: number;
  readonly afterAnnounce: number;
  readonly whileSilent: number;
}

/** The group of tasks that are at no peer, or whose checkpoint cannot be read. */
const NO_PEER = '';

/**
 * The tasks that ended here while a peer may still be doing them. Each is canceled at its peer once that answers again, and
 * what the peer did is kept as the task's late result (docs/handshake.md#late-results).
 */
export function createGivenUpTasks(options: GivenUpOptions) {
  const { ledger, clock, log } = options;
  const open = new Map<string, Tries>();
  const peerOf = new Map<string, string>();
  /** The peers whose tasks are being checked. */
  const busy = new Set<string>();
  const stopping = new AbortController();
  let timer: Disposable | undefined;

  function tried(taskId: string): void {
    const count = (open.get(taskId)?.count ?? 0) + 1;
    const triedAt = clock.now();
    const pause = (each: typeof WHILE_SILENT): number =>
      triedAt + backoffMs(count, { ...each, random: options.random });
    open.set(taskId, {
      count,
      triedAt,
      afterAnnounce: pause(AFTER_ANNOUNCE),
      whileSilent: pause(WHILE_SILENT),
    });
  }

  function isDue(peer: string, tries: Tries): boolean {
    // An announce of the same millisecond may have come after the try.
    const hasAnnounced = (options.peers.get(peer)?.receivedAt ?? 0) >= tries.triedAt;
    return clock.now() >= (hasAnnounced ? tries.afterAnnounce : tries.whileSilent);
  }

  /** False when nothing is left to do for the task. */
  async function check(taskId: string, tries: Tries): Promise<boolean> {
    const record = ledger.get(taskId);
    if (!record) return false;
    if (!isTerminal(record.state)) return true;
    const { current, givenUp } = givenUpState(ledger.loadCheckpoint(taskId));
    if (!current || !givenUp) return false;
    const taskLog = logWith(log, recordFields(record));
    if (clock.now() - givenUp.at > MAX_AGE_MS) {
      taskLog.warn({ peer: current.peer }, 'task that was given up was never canceled at its peer');
      await ledger.dropKeptCheckpoint(taskId);
      return false;
    }
    const cancelOptions = cancelOptionsFor({ ...options, log: taskLog }, record, current, stopping.signal);
    if (!cancelOptions || !isDue(current.peer, tries)) return true;
    tried(taskId);
    const canceled = await cancelAtPeer(cancelOptions, current);
    if (canceled.kind === 'open') return true;
    if (canceled.kind === 'ended' && canceled.result.status !== 'blocked')
      await keep(record, current.peer, canceled.result, taskLog);
    else {
      await ledger.dropKeptCheckpoint(taskId);
      taskLog.info({ peer: current.peer }, 'task that was given up is not at its peer');
    }
    return false;
  }

  async function keep(record: TaskRecord, peer: string, result: TaskResult, taskLog: Log): Promise<void> {
    const tokens = Math.min(result.tokensSpent, MAX_REPORTED_TOKENS);
    const executedBy = executorOf(result, peer, options.self);
    const late = encodeResult({ ...result, taskId: record.key, tokensSpent: tokens, executedBy });
    await ledger.saveLateResult(record.id, late, delegatedEntry('relay', tokens));
    taskLog.info(
      { peer, status: result.status, tokens_spent: tokens },
      'late result of a given-up task kept',
    );
  }

  async function checkEach(tasks: readonly (readonly [string, Tries])[]): Promise<void> {
    for (const [taskId, tries] of tasks) {
      if (stopping.signal.aborted) return;
      try {
        if (await check(taskId, tries)) continue;
        open.delete(taskId);
        peerOf.delete(taskId);
      } catch (err) {
        tried(taskId);
        log.warn({ task_id: taskId, err }, 'task that was given up not checked: trying again');
      }
    }
  }

  /** Checks the tasks of each peer one after another. A peer that hangs holds up only its own. */
  function checkAll(): void {
    for (const [peer, tasks] of Map.groupBy([...open], ([taskId]) => readPeer(taskId))) {
      if (busy.has(peer)) continue;
      busy.add(peer);
      void checkEach(tasks).finally(() => busy.delete(peer));
    }
  }

  function readPeer(taskId: string): string {
    const known = peerOf.get(taskId);
    if (known !== undefined) return known;
    try {
      const { current } = givenUpState(ledger.loadCheckpoint(taskId));
      if (!current) return NO_PEER;
      peerOf.set(taskId, current.peer);
      return current.peer;
    } catch {
      // Its check reports the reason.
      return NO_PEER;
    }
  }

  function arm(): void {
    if (timer || open.size === 0 || stopping.signal.aborted) return;
    timer = clock.timer(() => {
      timer = undefined;
      checkAll();
      arm();
    }, CHECK_EVERY_MS);
  }

  /** The task has a kept checkpoint, or is about to end with one. */
  function add(taskId: string): void {
    if (!open.has(taskId)) tried(taskId);
    arm();
  }

  return {
    add,
    /** Continues with the tasks of an earlier process. */
    start: (): void => ledger.keptCheckpoints().forEach(({ taskId }) => void add(taskId)),
    stop(): void {
      stopping.abort();
      timer?.[Symbol.dispose]();
    },
  };
}

function givenUpState(checkpoint: JsonObject | undefined): Partial<RelayState> {
  return checkpoint?.keep_after_end === true ? decodeRelayState(checkpoint) : {};
}

/** Undefined for a peer that is not known now. */
function cancelOptionsFor(
  { peers, client, log, ledger }: GivenUpOptions,
  record: TaskRecord,
  delegation: Delegation,
  signal: AbortSignal,
): CancelOptions | undefined {
  const { id, dispatch, traceparent } = record;
  const endpoint = peers.get(delegation.peer)?.endpoint;
  if (!endpoint) return undefined;
  const contract = isJsonObject(dispatch.task) ? dispatch.task : {};
  const { output_schema: outputSchema } = contract;
  return {
    client,
    endpoint: delegation.prose ? endpointOf({ endpoint }, delegation) : endpoint,
    traceparent,
    taskId: id,
    parts: attachments(record.message),
    repositoryToken: ledger.contexts.repositoryToken(id),
    replySchema: ReplySchema.catch('prose').parse(contract.reply_schema),
    outputSchema: isJsonObject(outputSchema) ? outputSchema : undefined,
    protocolVersion: versionOf(delegation.payload) || versionOf(dispatch),
    log,
    signal,
  };
}

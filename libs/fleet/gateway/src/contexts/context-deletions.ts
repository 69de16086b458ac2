import type { A2AClient } from '@hermes-fleet/a2a';
import type { ContextDeletion, Ledger, PeerDeletion, RemovedFiles, ResultsMode } from '@hermes-fleet/ledger';
import { isProsePeer, type PeerRegistry } from '@hermes-fleet/peers';
import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { deleteAtPeer, type PeerDeletionOutcome } from './delete-at-peer.ts';

/** How long a request waits for files and peers. A peer that asks waits for less than this, and asks again. */
const ANSWER_MS = 8_000;
const PEER_TIMEOUT_MS = 5_000;
const RETRY = { firstMs: 1_000, longestMs: 600_000 };
/** How many deletions take a step at a time; a step has a request for each peer. */
const MAX_STEPS = 8;
const DAY_MS = 86_400_000;
const NO_FILES: RemovedFiles = { files: false, result: 'none' };

/** The contexts of an agent on disk. */
export interface AgentContexts {
  /** Removes the files, the processes and the instances of MCP servers of a context. Idempotent. */
  remove(contextId: string, options: { readonly results: ResultsMode }): Promise<RemovedFiles>;
}

export interface ContextDeletionsOptions {
  readonly profile: string;
  readonly ledger: Pick<Ledger, 'contexts'>;
  readonly agentContexts: AgentContexts | undefined;
  /** The reason if no deletion is accepted at the moment. */
  readonly closed: () => FleetError | undefined;
  readonly peers: Pick<PeerRegistry, 'get'>;
  readonly client: Pick<A2AClient, 'fetch'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** How long a peer that does not answer is asked, days. */
  readonly keepAskingDays: number;
}

export type ContextDeletions = ReturnType<typeof createContextDeletions>;

interface DeletionAsked extends Pick<ContextDeletion, 'contextId' | 'results'> {
  readonly caller: string;
}

interface Step {
  readonly deletion: ContextDeletion;
  /** No further step is needed. */
  readonly isOver: boolean;
}

/** Deletes contexts with everything that belongs to them, here and at peers (docs/operations.md#delete-a-context). */
export function createContextDeletions(options: ContextDeletionsOptions) {
  const { profile, ledger, agentContexts, peers, client, clock, log, random } = options;
  const stopping = new AbortController();
  const steps = new Map<string, Promise<ContextDeletion>>();
  const timers = new Map<string, Disposable>();
  const tries = new Map<string, number>();
  let purgeTries = 0;
  let purgeTimer: Disposable | undefined;
  const inSlot = createSlots(MAX_STEPS);

  /**
   * Takes the next step of a deletion when a slot is free, and the steps after it later; calls during a step share it. A
   * step that a caller waits for is urgent.
   */
  function advance(
    asked: ContextDeletion,
    priority: 'urgent' | 'normal' = 'normal',
  ): Promise<ContextDeletion> {
    const { contextId } = asked;
    const current = steps.get(contextId);
    if (current) return current;
    timers.get(contextId)?.[Symbol.dispose]();
    timers.delete(contextId);
    const step = inSlot(() => takeStep(asked), priority).then(({ deletion, isOver }) => {
      steps.delete(contextId);
      if (isOver) tries.delete(contextId);
      else advanceLater(deletion);
      return deletion;
    });
    steps.set(contextId, step);
    return step;
  }

  async function takeStep(asked: ContextDeletion): Promise<Step> {
    const { contextId } = asked;
    if (stopping.signal.aborted) return { deletion: asked, isOver: false };
    try {
      // A step whose recording failed may be recorded all the same, and the context may be in use again.
      const deletion = ledger.contexts.findDeletion(contextId);
      if (!deletion) return { deletion: asked, isOver: true };
      const { results } = deletion;
      const pending = deletion.peers.filter(({ state }) => state === 'pending');
      const [removed, ...peersAfter] = await Promise.all([
        deletion.removed ?? removeFiles(deletion),
        ...pending.map((peer) => askPeer(deletion, peer)),
      ]);
      const after = await ledger.contexts.record(contextId, { results, removed, peers: peersAfter });
      if (after) return { deletion: after, isOver: !needsStep(after) };
      const peersNow = deletion.peers.map((peer) => peersAfter[pending.indexOf(peer)] ?? peer);
      return { deletion: { ...deletion, removed, peers: peersNow }, isOver: true };
    } catch (err) {
      if (!stopping.signal.aborted)
        log.warn({ context_id: contextId, err }, 'deletion of a context not recorded: trying again');
      return { deletion: asked, isOver: false };
    }
  }

  function advanceLater(deletion: ContextDeletion): void {
    if (stopping.signal.aborted) return;
    const { contextId } = deletion;
    const count = (tries.get(contextId) ?? 0) + 1;
    tries.set(contextId, count);
    const next = (): void => {
      timers.delete(contextId);
      void advance(deletion);
    };
    timers.set(contextId, clock.timer(next, backoffMs(count, { ...RETRY, random })));
  }

  /** Purges the ledger for all deletions, and tries again after a failure. Resolves with whether this try succeeded. */
  async function purge(): Promise<boolean> {
    try {
      await ledger.contexts.purge();
      purgeTries = 0;
      return true;
    } catch (err) {
      if (stopping.signal.aborted || purgeTimer) return false;
      log.warn({ err }, 'what deleted contexts left in the ledger is not removed: trying again');
      purgeTries += 1;
      const again = (): void => {
        purgeTimer = undefined;
        void purge();
      };
      purgeTimer = clock.timer(again, backoffMs(purgeTries, { ...RETRY, random }));
      return false;
    }
  }

  /** Undefined if it failed. */
  async function removeFiles({ contextId, results }: ContextDeletion): Promise<RemovedFiles | undefined> {
    try {
      return (await agentContexts?.remove(contextId, { results })) ?? NO_FILES;
    } catch (err) {
      if (!stopping.signal.aborted)
        log.warn({ context_id: contextId, err }, 'files of a deleted context not removed: trying again');
      return undefined;
    }
  }

  async function askPeer(deletion: ContextDeletion, asked: PeerDeletion): Promise<PeerDeletion> {
    const { peer, contextId } = asked;
    let outcome: PeerDeletionOutcome;
    try {
      outcome = await atPeer(peer, contextId, deletion.results, stopping.signal);
    } catch (err) {
      if (stopping.signal.aborted) return asked;
      log.error({ context_id: contextId, peer, err }, 'peer not asked to delete');
      outcome = { state: 'pending', detail: `${peer} could not be asked: the reason is in the log here` };
    }
    const fields = { context_id: deletion.contextId, peer, detail: outcome.detail };
    const isOver = clock.now() - deletion.askedAt > options.keepAskingDays * DAY_MS;
    if (outcome.state === 'pending' && isOver) {
      log.error(fields, 'context was never deleted at a peer: it is not asked any more');
      const detail = `not asked any more after ${options.keepAskingDays} days: ${outcome.detail}`;
      return { ...asked, state: 'refused', detail };
    }
    if (outcome.state === 'unsupported' || outcome.state === 'refused')
      log.warn({ ...fields, state: outcome.state }, 'context is not deleted at a peer');
    const { detail: _before, ...rest } = asked;
    return { ...rest, ...outcome };
  }

  async function atPeer(
    name: string,
    contextId: string,
    results: ResultsMode,
    signal: AbortSignal,
  ): Promise<PeerDeletionOutcome> {
    const peer = peers.get(name);
    if (!peer?.endpoint) return { state: 'pending', detail: `${name} is not known as a peer now` };
    if (isProsePeer(peer, clock.now()))
      return {
        state: 'unsupported',
        detail: `${name} does not speak the handshake: have its operator delete context ${contextId}`,
      };
    return deleteAtPeer({
      endpoint: peer.endpoint,
      contextId,
      results,
      fetch: client.fetch,
      timeoutMs: PEER_TIMEOUT_MS,
      signal,
    });
  }

  return {
    /**
     * Erases the caller's tasks of the context durably, if there still are any, then purges the ledger, removes the files of
     * the context and asks its peers; waits a few seconds for these, and resolves with what is done. The rest is done in the
     * background, and after a restart. Throws as `LedgerContexts.delete` does, and the reason of `closed`.
     */
    async delete({ contextId, caller, results }: DeletionAsked): Promise<ContextDeletion> {
      const closed = options.closed();
      if (closed) throw closed;
      const before = ledger.contexts.findDeletion(contextId);
      const deletion = await ledger.contexts.delete({ contextId, caller, results });
      // A repeat reports the state: a caller behind a chain of peers would never wait long enough for all of them.
      // Nothing is under way if the first request failed after its deletion was recorded.
      const isUnderWay = steps.has(contextId) || timers.has(contextId);
      if (before && before.results === deletion.results && isUnderWay) return deletion;
      log.info({ context_id: contextId, caller, tasks: deletion.tasks, results }, 'context is deleted');
      const work = Promise.all([purge(), advance(deletion, 'urgent')]);
      const done = await firstOf(clock, ANSWER_MS, work);
      if (!done) return ledger.contexts.findDeletion(contextId) ?? deletion;
      const [isPurged, after] = done;
      return isPurged ? { ...after, purged: true } : after;
    },
    /** Asks a peer once to delete the contexts of the subtasks that a task had done there; undefined if there are none. */
    async discardSubtasks(
      { id }: { readonly id: string },
      peer: string,
      results: ResultsMode,
      signal: AbortSignal,
    ): Promise<PeerDeletionOutcome | undefined> {
      const until = AbortSignal.any([signal, stopping.signal]);
      let outcome: PeerDeletionOutcome | undefined;
      for (const sent of ledger.contexts.sentBy(id)) {
        if (sent.kind !== 'subtask' || sent.peer !== peer || sent.contextId === undefined) continue;
        const deletion = await atPeer(peer, sent.contextId, results, until);
        if (outcome === undefined || deletion.state !== 'deleted') outcome = deletion;
      }
      return outcome;
    },
    /** Continues the deletions of an earlier process. */
    start(): void {
      const open = ledger.contexts.deletions();
      if (open.some(({ purged }) => !purged)) void purge();
      for (const deletion of open) void advance(deletion);
    },
    /** Ends all waits. Resolves when no step is under way; what is not done is left to the next start. */
    async stop(): Promise<void> {
      stopping.abort(new FleetError('SHUTTING_DOWN', `${profile} is stopping`));
      for (const timer of timers.values()) timer[Symbol.dispose]();
      purgeTimer?.[Symbol.dispose]();
      await Promise.all(steps.values());
    },
  };
}

/** The purge has tries of its own. */
const needsStep = ({ removed, peers }: ContextDeletion): boolean =>
  removed === undefined || peers.some(({ state }) => state === 'pending');

/** The value of `work`, or undefined after `ms`. */
async function firstOf<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  using _timer = clock.timer(() => resolve(undefined), ms);
  return await Promise.race([work, promise]);
}

/**
 * A function that runs work when one of `count` slots is free, in the order of the calls, urgent work first. It settles as the
 * work does; the caller bounds how many wait.
 */
function createSlots(count: number) {
  const waiting = { urgent: [] as (() => void)[], normal: [] as (() => void)[] };
  let free = count;
  return async <T>(work: () => Promise<T>, priority: 'urgent' | 'normal'): Promise<T> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting[priority].push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.urgent.shift() ?? waiting.normal.shift();
      if (next) next();
      else free += 1;
    }
  };
}

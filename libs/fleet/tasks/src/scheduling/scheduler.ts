import { FleetError, type SchedulingState } from '@hermes-fleet/protocol';
import type { Priority } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { Classes } from './classes.ts';
import type { Lane } from './lane.ts';
import { createRounds } from './rounds.ts';
import { TRANSITIONS } from './states.ts';
import type { Needs, Turn } from './turn.ts';
import { WaitingLines, type WaitingTask } from './waiting-lines.ts';

/** A task as the scheduler sees it. */
export interface ScheduledTask {
  readonly taskId: string;
  /** One task of a context goes on at a time. */
  readonly contextId: string;
  readonly caller: string;
  readonly priority: Priority;
  /** When the profile received the task, ms since the epoch. */
  readonly receivedAt: number;
}

/** A task in the scheduler. */
export type Ticket = ReturnType<Scheduler['add']>;

/** The scheduler's record of an unfinished task. */
interface TaskEntry extends WaitingTask {
  readonly taskId: string;
  readonly lane: Lane;
  state: SchedulingState;
  needs: Needs;
  turn: Turn | undefined;
  place: Disposable | undefined;
  /** Start of the wait for a place, on the monotonic clock, ms. A refusal does not end it. */
  waitsSince: number | undefined;
  /** The turn of its caller before the task was served. */
  turnBefore: number | undefined;
  /** The turn that its caller gets back when the task waits again. */
  turnToGiveBack: number | undefined;
  /** Other tasks of its context were before it. */
  cameByContext: boolean;
}

/** The needs of a task that waits for its context alone. */
const CONTEXT: Needs = { key: 'context' };
const NO_PLACE: Disposable = { [Symbol.dispose]: () => undefined };
/** The pause after a renewal of needs is so many times as long as the renewal. */
const RENEWAL_PAUSE = 9;

/** True for a task in the lines. */
const waits = (state: SchedulingState): boolean => state === 'waiting' || state === 'queued';

export type Scheduler = ReturnType<typeof createScheduler>;

/**
 * Moves tasks through their states (docs/handshake.md#scheduling): one record for each task, and one order for all that
 * wait. It assigns places in rounds. A round looks once at each class of tasks with equal needs, and gives the free places
 * to the first tasks that can use them, until no place is free beside a task that could use it. The scheduler decides; who
 * has the ticket of a task makes each step durable and carries it out. `ageingMs`: a wait of this length raises the first
 * task of a line by one priority.
 */
export function createScheduler({ clock, log, ageingMs }: { clock: Clock; log: Log; ageingMs: number }) {
  const lines = new WaitingLines<TaskEntry>(ageingMs);
  const classes = new Classes<TaskEntry>();
  const tickets = new Map<string, EntryTicket>();
  let arrivals = 0;
  let changes = 0;
  /** No needs are renewed before this, on the monotonic clock, ms. */
  let renewsAfter = 0;
  /** A round has left out its renewal because of the pause. */
  let isRenewalOwed = false;
  const rounds = createRounds({
    clock,
    hasWork: () => classes.size > 0,
    round: runRound,
    dueInMs,
    onError: (error) => log.error({ err: error }, 'a round of the scheduler failed'),
  });

  /** Transitions that its state does not allow throw INTERNAL. */
  class EntryTicket {
    readonly #entry: TaskEntry;

    constructor(entry: TaskEntry) {
      this.#entry = entry;
    }

    get state(): SchedulingState {
      return this.#entry.state;
    }

    /** True once the task holds its context. */
    get hasBegun(): boolean {
      return lines.isHeldBy(this.#entry);
    }

    /** True if it had to wait for other tasks of its context. */
    get cameByContext(): boolean {
      return this.#entry.cameByContext;
    }

    /** Calls `begin` as soon as no other task of the context holds it, and gives the task its context. */
    enterContext(begin: () => void): void {
      if (this.hasBegun || !lines.isContextTaken(this.#entry)) {
        lines.holdContext(this.#entry, clock.monotonic());
        begin();
        return;
      }
      this.queue({ needs: () => CONTEXT, reserve: () => NO_PLACE, to: 'submitted', begin });
      this.#entry.cameByContext = true;
    }

    /** The task waits for its turn. */
    queue(turn: Turn): void {
      const entry = this.#entry;
      entry.turn = turn;
      entry.needs = needsOf(entry, turn);
      if (turn.to !== 'submitted') entry.waitsSince ??= clock.monotonic();
      enter(entry, 'queued');
      changed();
    }

    /** The task waits no longer, and has no place. */
    leave(): void {
      const { state, turn } = this.#entry;
      if (state === 'queued' && turn?.to === 'running') enter(this.#entry, 'asking');
      else if (waits(state)) enter(this.#entry, 'submitted');
    }

    /** The task is at this place since a former process, however many are there. */
    restore(place: Disposable): void {
      lines.holdContext(this.#entry, clock.monotonic());
      enter(this.#entry, 'queued');
      enter(this.#entry, 'placed');
      setPlace(this.#entry, place);
    }

    /** The task runs at its place. */
    run(): void {
      if (this.state === 'placed') enter(this.#entry, 'running');
    }

    /**
     * The task has lost its place and is judged again. It keeps its context and its order; `keepsTurn`: its caller's turn
     * did not count.
     */
    retry(keepsTurn: boolean): void {
      enter(this.#entry, 'submitted');
      setPlace(this.#entry, undefined);
      this.#entry.turnToGiveBack = keepsTurn ? this.#entry.turnBefore : undefined;
    }

    /** The task waits for an answer or for a part of its work, without a place. It keeps its context. */
    ask(): void {
      enter(this.#entry, 'asking');
      setPlace(this.#entry, undefined);
    }

    /** The task goes on at this place. */
    resume(place: Disposable): void {
      enter(this.#entry, 'running');
      setPlace(this.#entry, place);
    }

    /** The task has ended: its place and its context are free. May be repeated. */
    end(): void {
      if (this.state === 'ended') return;
      enter(this.#entry, 'ended');
      setPlace(this.#entry, undefined);
    }
  }

  function changed(): void {
    changes += 1;
    rounds.request();
  }

  function setPlace(entry: TaskEntry, place: Disposable | undefined): void {
    const before = entry.place;
    entry.place = place;
    entry.lane.countPlace(Number(place !== undefined) - Number(before !== undefined));
    before?.[Symbol.dispose]();
    if (before) changed();
    if (Boolean(place) !== Boolean(before)) entry.lane.changed();
  }

  /** Moves a task to another state, and keeps every index in step. */
  function enter(entry: TaskEntry, state: SchedulingState): void {
    const before = entry.state;
    if (!TRANSITIONS[before].includes(state))
      throw new FleetError('INTERNAL', `task ${entry.taskId} cannot go from ${before} to ${state}`);
    entry.lane.move(entry.caller, before, state);
    entry.state = state;
    const now = clock.monotonic();
    if (waits(before) && !waits(state)) {
      entry.lane.endWait(entry);
      classes.remove(entry);
      lines.remove(entry, now);
    }
    if (!waits(before) && waits(state)) {
      entry.lane.wait(entry, entry.waitsSince ?? now);
      classes.add(entry);
      lines.add(entry, now);
      if (entry.turnToGiveBack !== undefined) lines.giveBack(entry.caller, entry.turnToGiveBack);
      entry.turnToGiveBack = undefined;
    }
    if (state === 'ended') {
      tickets.delete(entry.taskId);
      lines.release(entry, now);
      changed();
    }
    entry.lane.changed();
  }

  async function runRound(yieldIfLong: () => Promise<void> | undefined): Promise<void> {
    if (isRenewalOwed || classes.unsettled.size > 0) await renewAll(yieldIfLong);
    for (const known of classes.all()) {
      try {
        classes.look(known, clock.now());
      } catch (error) {
        for (const entry of [...known.members]) fail(entry, error);
      }
      const pause = yieldIfLong();
      if (pause) await pause;
    }
    assignPlaces();
    reportVerdicts();
  }

  /** Tasks of different lanes never share a class: one lane may have no place. */
  function needsOf({ lane }: TaskEntry, turn: Turn): Needs {
    const needs = turn.needs(clock.now());
    return { ...needs, key: `${lane.name} ${needs.key}` };
  }

  /**
   * Renews all needs that may have changed, except during the pause. A renewal costs time for each of them, and one is asked
   * for in every round: all of them together take at most a tenth of the time.
   */
  async function renewAll(yieldIfLong: () => Promise<void> | undefined): Promise<void> {
    const startedAt = clock.monotonic();
    isRenewalOwed = startedAt < renewsAfter && classes.unsettled.size > 0;
    if (isRenewalOwed) return;
    for (const entry of classes.renewing()) {
      renewNeeds(entry);
      await yieldIfLong();
    }
    const endedAt = clock.monotonic();
    renewsAfter = endedAt + RENEWAL_PAUSE * (endedAt - startedAt);
  }

  function renewNeeds(entry: TaskEntry): void {
    if (!waits(entry.state) || !entry.turn) return;
    try {
      const needs = needsOf(entry, entry.turn);
      const change = (): void => {
        entry.needs = needs;
      };
      if (needs.key === entry.needs.key && needs.until !== undefined) {
        change();
        classes.keep(entry);
        return;
      }
      classes.remove(entry);
      lines.move(entry, change, clock.monotonic());
      classes.add(entry);
    } catch (error) {
      fail(entry, error);
    }
  }

  function fail(entry: TaskEntry, error: unknown): void {
    if (!waits(entry.state)) return;
    enter(entry, 'submitted');
    entry.turn?.failed?.(error);
  }

  /** Gives the free places to the first tasks that can use them. */
  function assignPlaces(): void {
    const now = clock.monotonic();
    let refused: Set<TaskEntry> | undefined;
    const waitedMs = ({ waitsSince = now }: TaskEntry): number => now - waitsSince;
    const canStart = (entry: TaskEntry): boolean =>
      !refused?.has(entry) && roomAfterMs(entry) <= waitedMs(entry);
    for (let next = lines.first(now, canStart); next; next = lines.first(now, canStart)) {
      const { turn } = next;
      let place: Disposable | undefined;
      try {
        place = turn?.reserve(clock.now(), waitedMs(next));
      } catch (error) {
        fail(next, error);
        continue;
      }
      if (!turn || !place) {
        refused ??= new Set();
        refused.add(next);
        continue;
      }
      changes += 1;
      if (turn.to === 'submitted') lines.holdContext(next, now);
      else {
        next.turnBefore = lines.serve(next, now);
        setPlace(next, place);
      }
      if (next.state === 'waiting') enter(next, 'queued');
      enter(next, turn.to);
      turn.begin();
    }
  }

  function roomAfterMs(entry: TaskEntry): number {
    const needsPlace = entry.turn?.to !== 'submitted';
    if (needsPlace && !entry.lane.hasPlace) return Number.POSITIVE_INFINITY;
    return classes.roomAfterMs(entry, changes);
  }

  /** Tells the tasks that are left waiting what has changed for them. */
  function reportVerdicts(): void {
    for (const { uninformed, outlook } of classes.all()) {
      if (!outlook) continue;
      for (const entry of [...uninformed]) {
        uninformed.delete(entry);
        const state = outlook.verdict === 'queued' ? 'queued' : 'waiting';
        if (entry.state !== state) enter(entry, state);
        entry.turn?.onVerdict?.(outlook.verdict);
      }
    }
  }

  /** The time until something changes by itself, ms. */
  function dueInMs(): number {
    const now = clock.monotonic();
    const needsChangeIn = isRenewalOwed ? 0 : classes.needsChangeAt() - clock.now();
    const outlookChangesIn = classes.outlookChangesAt() - clock.now();
    let dueIn = Math.min(outlookChangesIn, Math.max(renewsAfter - now, needsChangeIn));
    lines.first(now, (entry) => {
      const left = (entry.waitsSince ?? now) + roomAfterMs(entry) - now;
      if (left > 0) dueIn = Math.min(dueIn, left);
      return false;
    });
    return dueIn;
  }

  return {
    /**
     * Creates the ticket of a task. `state`: `asking` for a task that waits for an answer since a former process.
     * `hasBegun`: it holds its context since then.
     */
    add(lane: Lane, task: ScheduledTask, state: 'submitted' | 'asking', hasBegun: boolean): EntryTicket {
      const { receivedAt, ...named } = task;
      arrivals += 1;
      const entry: TaskEntry = {
        ...named,
        lane,
        state,
        order: arrivals,
        since: clock.monotonic() - Math.max(0, clock.now() - receivedAt),
        needs: CONTEXT,
        turn: undefined,
        place: undefined,
        waitsSince: undefined,
        turnBefore: undefined,
        turnToGiveBack: undefined,
        cameByContext: false,
        firstSince: undefined,
      };
      lane.move(task.caller, undefined, state);
      lane.changed();
      if (hasBegun) lines.holdContext(entry, clock.monotonic());
      const ticket = new EntryTicket(entry);
      tickets.set(task.taskId, ticket);
      return ticket;
    },
    /** The ticket of a task that has not ended. */
    ticketOf: (taskId: string): EntryTicket | undefined => tickets.get(taskId),
    /** Reports that a place may have become free, or may take other tasks than before. */
    changed,
    /** Assigns no further places. */
    stop: rounds.stop,
    /** How many new tasks of the lane can start at once: none while a task waits that could start if its lane had a place. */
    freePlacesOf(lane: Lane): number {
      const startable = lines.first(clock.monotonic(), (entry) => entry.lane === lane);
      return startable === undefined ? lane.freePlaces : 0;
    },
  };
}

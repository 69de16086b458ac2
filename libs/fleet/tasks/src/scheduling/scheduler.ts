import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { Classes } from './classes.ts';
import { newEntry, type TaskEntry, waits } from './entry.ts';
import { EntryTicket, type TicketSteps } from './entry-ticket.ts';
import type { Lane } from './lane.ts';
import { Renewals } from './renewals.ts';
import { Rounds } from './rounds.ts';
import { type SchedulingState, TRANSITIONS } from './states.ts';
import type { Needs, ScheduledTask, Ticket, Turn } from './ticket.ts';
import { WaitingLines } from './waiting-lines.ts';

export interface SchedulerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** A wait of this length raises the first task of a line by one priority. */
  readonly ageingMs: number;
}

/**
 * Moves tasks through their states (docs/handshake.md#scheduling): one record for each task, and one order for all that
 * wait. It assigns places in rounds. A round looks once at each class of tasks with equal needs, and gives the free places
 * to the first tasks that can use them, until no place is free beside a task that could use it. The scheduler decides; who
 * has the ticket of a task makes each step durable and carries it out.
 */
export class Scheduler {
  readonly #clock: Clock;
  readonly #lines: WaitingLines<TaskEntry>;
  readonly #classes = new Classes<TaskEntry>();
  readonly #tickets = new Map<string, Ticket>();
  #arrivals = 0;
  #changes = 0;
  readonly #renewals: Renewals;
  readonly #rounds: Rounds;
  readonly #steps: TicketSteps;

  constructor({ clock, log, ageingMs }: SchedulerOptions) {
    this.#clock = clock;
    this.#lines = new WaitingLines(ageingMs);
    const lines = this.#lines;
    this.#steps = {
      isHeldBy: (entry) => lines.isHeldBy(entry),
      isContextTaken: (entry) => lines.isContextTaken(entry),
      hold: (entry) => lines.hold(entry, clock.monotonic()),
      queue: (entry, turn) => this.#queue(entry, turn),
      enter: (entry, state) => this.#enter(entry, state),
      setPlace: (entry, place) => this.#setPlace(entry, place),
    };
    this.#renewals = new Renewals(clock, this.#classes, (entry) => this.#renewNeeds(entry));
    this.#rounds = new Rounds({
      clock,
      hasWork: () => this.#classes.size > 0,
      round: (yieldIfLong) => this.#round(yieldIfLong),
      dueInMs: () => this.#dueInMs(),
      onError: (error) => log.error({ err: error }, 'a round of the scheduler failed'),
    });
  }

  /**
   * Creates the ticket of a task. `state`: `asking` for a task that waits for an answer since a former process.
   * `hasBegun`: it holds its context since then.
   */
  add(lane: Lane, task: ScheduledTask, state: 'submitted' | 'asking', hasBegun: boolean): Ticket {
    this.#arrivals += 1;
    const waitedMs = Math.max(0, this.#clock.now() - task.receivedAt);
    const since = this.#clock.monotonic() - waitedMs;
    const entry = newEntry(task, { lane, state, order: this.#arrivals, since });
    lane.move(task.caller, undefined, state);
    lane.changed();
    if (hasBegun) this.#lines.hold(entry, this.#clock.monotonic());
    const ticket = new EntryTicket(entry, this.#steps);
    this.#tickets.set(task.taskId, ticket);
    return ticket;
  }

  /** The ticket of a task that has not ended. */
  ticketOf(taskId: string): Ticket | undefined {
    return this.#tickets.get(taskId);
  }

  /** Reports that a place may have become free, or may take other tasks than before. */
  changed(): void {
    this.#changes += 1;
    this.#rounds.request();
  }

  /** Assigns no further places. */
  stop(): void {
    this.#rounds.stop();
  }

  /** How many new tasks of the lane can start at once: none while a task waits that could start if its lane had a place. */
  freePlacesOf(lane: Lane): number {
    const startable = this.#lines.first(this.#clock.monotonic(), (entry) => entry.lane === lane);
    return startable === undefined ? lane.freePlaces : 0;
  }

  #queue(entry: TaskEntry, turn: Turn): void {
    entry.turn = turn;
    entry.needs = this.#needsOf(entry, turn);
    if (turn.to !== 'submitted') entry.waitsSince ??= this.#clock.monotonic();
    this.#enter(entry, 'queued');
    this.changed();
  }

  #setPlace(entry: TaskEntry, place: Disposable | undefined): void {
    const before = entry.place;
    entry.place = place;
    entry.lane.countPlace(Number(place !== undefined) - Number(before !== undefined));
    before?.[Symbol.dispose]();
    if (before) this.changed();
    if (Boolean(place) !== Boolean(before)) entry.lane.changed();
  }

  /** Moves a task to another state, and keeps every index in step. */
  #enter(entry: TaskEntry, state: SchedulingState): void {
    const before = entry.state;
    if (!TRANSITIONS[before].includes(state))
      throw new FleetError('INTERNAL', `task ${entry.taskId} cannot go from ${before} to ${state}`);
    entry.lane.move(entry.caller, before, state);
    entry.state = state;
    if (waits(before) && !waits(state)) this.#leaveLine(entry);
    if (!waits(before) && waits(state)) this.#joinLine(entry);
    if (state === 'ended') {
      this.#tickets.delete(entry.taskId);
      this.#lines.release(entry, this.#clock.monotonic());
      this.changed();
    }
    entry.lane.changed();
  }

  #joinLine(entry: TaskEntry): void {
    const now = this.#clock.monotonic();
    entry.lane.wait(entry, entry.waitsSince ?? now);
    this.#classes.add(entry);
    this.#lines.add(entry, now);
    if (entry.turnToGiveBack !== undefined) this.#lines.giveBack(entry.caller, entry.turnToGiveBack);
    entry.turnToGiveBack = undefined;
  }

  #leaveLine(entry: TaskEntry): void {
    entry.lane.endWait(entry);
    this.#classes.remove(entry);
    this.#lines.remove(entry, this.#clock.monotonic());
  }

  async #round(yieldIfLong: () => Promise<void> | undefined): Promise<void> {
    if (this.#renewals.hasWork) await this.#renewals.all(yieldIfLong);
    for (const known of this.#classes.all()) {
      try {
        this.#classes.look(known, this.#clock.now());
      } catch (error) {
        for (const entry of [...known.members]) this.#fail(entry, error);
      }
      const pause = yieldIfLong();
      if (pause) await pause;
    }
    this.#assign();
    this.#reportVerdicts();
  }

  /** Tasks of different lanes never share a class: one lane may have no place. */
  #needsOf({ lane }: TaskEntry, turn: Turn): Needs {
    const needs = turn.needs(this.#clock.now());
    return { ...needs, key: `${lane.name} ${needs.key}` };
  }

  #renewNeeds(entry: TaskEntry): void {
    if (!waits(entry.state) || !entry.turn) return;
    try {
      const needs = this.#needsOf(entry, entry.turn);
      const change = (): void => {
        entry.needs = needs;
      };
      if (needs.key === entry.needs.key && needs.until !== undefined) {
        change();
        this.#classes.keep(entry);
        return;
      }
      this.#classes.remove(entry);
      this.#lines.move(entry, change, this.#clock.monotonic());
      this.#classes.add(entry);
    } catch (error) {
      this.#fail(entry, error);
    }
  }

  #fail(entry: TaskEntry, error: unknown): void {
    if (!waits(entry.state)) return;
    this.#enter(entry, 'submitted');
    entry.turn?.failed?.(error);
  }

  /** Gives the free places to the first tasks that can use them. */
  #assign(): void {
    const now = this.#clock.monotonic();
    let refused: Set<TaskEntry> | undefined;
    const waitedMs = ({ waitsSince = now }: TaskEntry): number => now - waitsSince;
    const canStart = (entry: TaskEntry): boolean =>
      !refused?.has(entry) && this.#roomAfterMs(entry) <= waitedMs(entry);
    for (let next = this.#lines.first(now, canStart); next; next = this.#lines.first(now, canStart)) {
      const { turn } = next;
      let place: Disposable | undefined;
      try {
        place = turn?.reserve(this.#clock.now(), waitedMs(next));
      } catch (error) {
        this.#fail(next, error);
        continue;
      }
      if (!turn || !place) {
        refused ??= new Set();
        refused.add(next);
        continue;
      }
      this.#changes += 1;
      if (turn.to === 'submitted') this.#lines.hold(next, now);
      else {
        next.turnBefore = this.#lines.serve(next, now);
        this.#setPlace(next, place);
      }
      if (next.state === 'waiting') this.#enter(next, 'queued');
      this.#enter(next, turn.to);
      turn.begin();
    }
  }

  #roomAfterMs(entry: TaskEntry): number {
    const needsPlace = entry.turn?.to !== 'submitted';
    if (needsPlace && !entry.lane.hasPlace) return Number.POSITIVE_INFINITY;
    return this.#classes.roomAfterMs(entry, this.#changes);
  }

  /** Tells the tasks that are left waiting what has changed for them. */
  #reportVerdicts(): void {
    for (const { uninformed, outlook } of this.#classes.all()) {
      if (!outlook) continue;
      for (const entry of [...uninformed]) {
        uninformed.delete(entry);
        const state = outlook.verdict === 'queued' ? 'queued' : 'waiting';
        if (entry.state !== state) this.#enter(entry, state);
        entry.turn?.onVerdict?.(outlook.verdict);
      }
    }
  }

  /** The time until something changes by itself, ms. */
  #dueInMs(): number {
    const now = this.#clock.monotonic();
    const outlookChangesIn = this.#classes.outlookChangesAt() - this.#clock.now();
    let dueIn = Math.min(outlookChangesIn, this.#renewals.dueInMs());
    this.#lines.first(now, (entry) => {
      const left = (entry.waitsSince ?? now) + this.#roomAfterMs(entry) - now;
      if (left > 0) dueIn = Math.min(dueIn, left);
      return false;
    });
    return dueIn;
  }
}

import { CONTEXT, NO_PLACE, type TaskEntry } from './entry.ts';
import type { SchedulingState } from './states.ts';
import type { Ticket, Turn } from './ticket.ts';

/** What the scheduler does for the tickets of its tasks. */
export interface TicketSteps {
  /** The task holds its context. */
  isHeldBy(entry: TaskEntry): boolean;
  /** Another task holds the context of this one, or comes before it there. */
  isContextTaken(entry: TaskEntry): boolean;
  /** Gives the task its context. */
  hold(entry: TaskEntry): void;
  queue(entry: TaskEntry, turn: Turn): void;
  enter(entry: TaskEntry, state: SchedulingState): void;
  setPlace(entry: TaskEntry, place: Disposable | undefined): void;
}

/** The ticket of one task, whose state is the scheduler's record. */
export class EntryTicket implements Ticket {
  readonly #entry: TaskEntry;
  readonly #steps: TicketSteps;

  constructor(entry: TaskEntry, steps: TicketSteps) {
    this.#entry = entry;
    this.#steps = steps;
  }

  get state(): SchedulingState {
    return this.#entry.state;
  }

  get hasBegun(): boolean {
    return this.#steps.isHeldBy(this.#entry);
  }

  get cameByContext(): boolean {
    return this.#entry.cameByContext;
  }

  enterContext(begin: () => void): void {
    const entry = this.#entry;
    if (this.hasBegun || !this.#steps.isContextTaken(entry)) {
      this.#steps.hold(entry);
      begin();
      return;
    }
    this.queue({ needs: () => CONTEXT, reserve: () => NO_PLACE, to: 'submitted', begin });
    entry.cameByContext = true;
  }

  queue(turn: Turn): void {
    this.#steps.queue(this.#entry, turn);
  }

  leave(): void {
    const { state, turn } = this.#entry;
    if (state === 'queued' && turn?.to === 'running') this.#enter('asking');
    else if (state === 'waiting' || state === 'queued') this.#enter('submitted');
  }

  restore(place: Disposable): void {
    this.#steps.hold(this.#entry);
    this.#enter('queued');
    this.#enter('placed');
    this.#setPlace(place);
  }

  run(): void {
    if (this.state === 'placed') this.#enter('running');
  }

  retry(keepsTurn: boolean): void {
    const entry = this.#entry;
    this.#enter('submitted');
    this.#setPlace(undefined);
    entry.turnToGiveBack = keepsTurn ? entry.turnBefore : undefined;
  }

  ask(): void {
    this.#enter('asking');
    this.#setPlace(undefined);
  }

  resume(place: Disposable): void {
    this.#enter('running');
    this.#setPlace(place);
  }

  end(): void {
    if (this.state === 'ended') return;
    this.#enter('ended');
    this.#setPlace(undefined);
  }

  #enter(state: SchedulingState): void {
    this.#steps.enter(this.#entry, state);
  }

  #setPlace(place: Disposable | undefined): void {
    this.#steps.setPlace(this.#entry, place);
  }
}

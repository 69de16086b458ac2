/** An unfinished task that may still spend the rest of its budget. */
export interface Reservation {
  readonly caller: string;
  /** The profile's own model works for it. */
  readonly isOwn: boolean;
  /** Tokens. */
  readonly budget: number;
  /** The tokens that it has spent of its budget. */
  readonly used: number;
}

/** The tokens that unfinished tasks may still spend, with sums that cost the same however many tasks there are. */
export interface Reservations {
  add(taskId: string, reservation: Reservation): void;
  /** Takes spent tokens from the reservation of a task, if it has one. */
  use(taskId: string, tokens: number): void;
  remove(taskId: string): void;
  /** The sum for the tasks of a caller. */
  of(caller: string): number;
  /** The sum for tasks of the profile's own model. */
  own(): number;
  callers(): Iterable<string>;
}

export function createReservations(): Reservations {
  const open = new Map<string, Reservation>();
  const byCaller = new Map<string, number>();
  let own = 0;

  function change(taskId: string, next: Reservation | undefined): void {
    const before = open.get(taskId);
    if (before) shift(before, -left(before));
    if (next) {
      open.set(taskId, next);
      shift(next, left(next));
    } else open.delete(taskId);
  }

  function shift({ caller, isOwn }: Reservation, by: number): void {
    const sum = (byCaller.get(caller) ?? 0) + by;
    if (sum === 0) byCaller.delete(caller);
    else byCaller.set(caller, sum);
    if (isOwn) own += by;
  }

  return {
    add: change,
    use(taskId, tokens) {
      const found = open.get(taskId);
      if (found) change(taskId, { ...found, used: found.used + tokens });
    },
    remove: (taskId) => change(taskId, undefined),
    of: (caller) => byCaller.get(caller) ?? 0,
    own: () => own,
    callers: () => byCaller.keys(),
  };
}

/** A task that spent more than its budget reserves nothing. */
const left = ({ budget, used }: Reservation): number => Math.max(0, budget - used);

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
export function createReservations() {
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
    add: (taskId: string, reservation: Reservation): void => change(taskId, reservation),
    /** Takes spent tokens from the reservation of a task, if it has one. */
    use(taskId: string, tokens: number): void {
      const reservation = open.get(taskId);
      if (reservation) change(taskId, { ...reservation, used: reservation.used + tokens });
    },
    remove: (taskId: string): void => change(taskId, undefined),
    /** The sum for the tasks of a caller. */
    of: (caller: string): number => byCaller.get(caller) ?? 0,
    /** The sum for tasks of the profile's own model. */
    own: (): number => own,
    callers: (): Iterable<string> => byCaller.keys(),
  };
}

/** A task that spent more than its budget reserves nothing. */
const left = ({ budget, used }: Reservation): number => Math.max(0, budget - used);

import { type FleetConfig, SHARED_CALLER } from '@hermes-fleet/fleet-config';
import {
  type Booking,
  type DaySpending,
  type Figures,
  type Ledger,
  spendingDay,
  type TaskRecord,
  utcDay,
} from '@hermes-fleet/ledger';
import { readDispatch, type TaskDispatch, type Unmet } from '@hermes-fleet/protocol/handshake';
import type { Caller, Clock } from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';
import { type DayCeiling, type DayFigures, dayUnmet, treeUnmet } from './ceilings.ts';

const DAY_MS = 86_400_000;

export interface SpendingOptions {
  readonly profile: string;
  readonly config: FleetConfig;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  readonly figures: Pick<Figures, 'latestDay' | 'spentOn' | 'spentBy'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Called when the clock is found to be on a day before the one that tokens count for, once for each day of the clock. */
  readonly onClockBehind?: (clockDay: string, day: string) => void;
  /** `budget.default` of config.yaml. */
  readonly defaultBudget: number | undefined;
  /** Cache reads and writes count as spent. */
  readonly countCache: boolean;
  /** False if the profile's own executor spends nothing. */
  readonly ownSpends: boolean;
}

export interface SpendingView {
  /** The UTC calendar day that tokens count for, `YYYY-MM-DD`. */
  readonly day: string;
  /** The day of the clock, if it is before `day`: then tokens were counted for a later day than the clock's. */
  readonly clockDay?: string | undefined;
  /** The end of the day, when everything but the reservations frees; ISO 8601. */
  readonly endsAt: string;
  readonly taskTree: number | undefined;
  /** The profile's own model calls. */
  readonly profile: DayFigures;
  /** The configured callers, and all others with tokens that count. */
  readonly callers: ReadonlyMap<string, DayFigures>;
}

export type Spending = ReturnType<typeof createSpending>;

/**
 * The ceilings on spending (docs/configuration.md#spending), and what counts below them: the tokens of the day from the
 * ledger, and what unfinished tasks may still spend. Exact after a restart, because both are read from the ledger.
 */
export function createSpending(options: SpendingOptions) {
  const { profile, config, figures, clock, countCache, ownSpends } = options;
  const { spending: ceilings, orchestrate, server } = config.fleet;
  const tree = ceilings.tokens_per_task_tree;
  const defaultBudget = smaller(options.defaultBudget, tree);
  const isLimited =
    tree !== undefined ||
    ceilings.tokens_per_day !== undefined ||
    Object.values(ceilings.callers).some((caller) => caller.tokens_per_day !== undefined);
  const configured = Object.keys(server?.callers ?? {});
  if (server?.token_env !== undefined || server?.auth_required === false) configured.push(SHARED_CALLER.name);

  const reservations = createReservations();
  let day = '';
  /** The day of the clock, if it is before `day`. */
  let behind: string | undefined;
  /** The tokens of the day, by caller. */
  const spent = new Map<string, Record<DaySpending['kind'], number>>();

  const cost = ({ tokens, cacheTokens }: Pick<Booking, 'tokens' | 'cacheTokens'>): number =>
    countCache ? tokens + cacheTokens : tokens;

  /** Begins a new day with what the ledger knows of it. It is no earlier than the latest day with tokens. */
  function turn(): void {
    const clockDay = utcDay(clock.now());
    const today = spendingDay(clockDay, figures.latestDay());
    if (today !== clockDay && clockDay !== behind) options.onClockBehind?.(clockDay, today);
    behind = today === clockDay ? undefined : clockDay;
    if (today === day) return;
    const known = figures.spentOn(today);
    day = today;
    spent.clear();
    for (const sum of known) countSum(sum);
  }

  function countSum(sum: DaySpending): void {
    const known = spent.get(sum.caller) ?? { own: 0, delegated: 0 };
    spent.set(sum.caller, { ...known, [sum.kind]: cost(sum) });
  }

  function ofProfile(): DayFigures {
    let own = 0;
    for (const sum of spent.values()) own += sum.own;
    return { limit: ceilings.tokens_per_day, spent: own, reserved: reservations.own() };
  }

  function ofCaller(caller: string): DayFigures {
    const { own, delegated } = spent.get(caller) ?? { own: 0, delegated: 0 };
    const limit = ceilings.callers[caller]?.tokens_per_day;
    return { limit, spent: own + delegated, reserved: reservations.of(caller) };
  }

  function budgetOf({ task }: TaskDispatch): number | undefined {
    return task.tokenBudget ?? defaultBudget;
  }

  /** The ceilings that a task would exceed now. */
  function unmet(dispatch: TaskDispatch, { name }: Caller): Unmet[] {
    const isOwn = isOwnWork(dispatch, profile, orchestrate);
    if (!isLimited || (isOwn && !ownSpends)) return [];
    turn();
    const budget = budgetOf(dispatch);
    const days: DayCeiling[] = [{ key: `callers.${name}.tokens_per_day`, ...ofCaller(name) }];
    if (isOwn) days.push({ key: 'tokens_per_day', ...ofProfile() });
    const frees = behind === undefined ? `at ${endOf(day)}` : whenBehindFrees(day, behind);
    return [
      ...treeUnmet(profile, tree, budget),
      ...days.flatMap((ceiling) => dayUnmet(profile, ceiling, budget, frees)),
    ];
  }

  function reserveRest(taskId: string, dispatch: TaskDispatch, caller: string, used: number): void {
    const isOwn = isOwnWork(dispatch, profile, orchestrate);
    const budget = isOwn && !ownSpends ? 0 : budgetOf(dispatch);
    // A task without a budget reserves nothing: no ceiling applied when it was admitted.
    if (budget !== undefined && budget > 0) reservations.add(taskId, { caller, isOwn, budget, used });
  }

  return {
    /** The budget of tasks that state none: `budget.default`, at most the ceiling of a task tree. */
    defaultBudget,
    unmet,
    /** As `unmet`; reserves the budget of the task in the same turn if there is none, until the task ends. */
    reserve(taskId: string, dispatch: TaskDispatch, caller: Caller): Unmet[] {
      const exceeded = unmet(dispatch, caller);
      if (exceeded.length === 0) reserveRest(taskId, dispatch, caller.name, 0);
      return exceeded;
    },
    /**
     * Reserves for the tasks that a former process admitted and that may still spend, here or at a peer that was given up,
     * whatever the ceilings are now.
     */
    restore(ledger: Pick<Ledger, 'unfinished' | 'keptCheckpoints' | 'get'>): void {
      const givenUp = ledger.keptCheckpoints().flatMap(({ taskId }) => ledger.get(taskId) ?? []);
      for (const record of [...ledger.unfinished(), ...givenUp]) {
        const dispatch = record.state === 'submitted' ? undefined : dispatchOf(record, options.versions);
        if (dispatch) reserveRest(record.id, dispatch, record.caller, cost(figures.spentBy(record.id)));
      }
    },
    /** Follows the ledger, as `ended`. Neither throws. */
    booked(booking: Booking): void {
      // On a new day, `turn` reads all at once.
      if (booking.day.day === day) countSum(booking.day);
      reservations.use(booking.taskId, cost(booking));
    },
    ended: reservations.remove,
    view(): SpendingView {
      turn();
      const names = new Set([...configured, ...spent.keys(), ...reservations.callers()]);
      return {
        day,
        clockDay: behind,
        endsAt: endOf(day),
        taskTree: tree,
        profile: ofProfile(),
        callers: new Map([...names].map((name) => [name, ofCaller(name)])),
      };
    },
  };
}

/** Shows the spending of the profile, and of the callers that fleet.yaml names, in the metrics. */
export function readSpending(metrics: Pick<FleetMetrics, 'read'>, view: Spending['view']): void {
  const each = (name: keyof DayFigures) => {
    const { profile, callers } = view();
    return [
      [{ scope: 'profile', caller: 'all' }, profile[name]] as const,
      ...[...callers].map(([caller, figures]) => [{ scope: 'caller', caller }, figures[name]] as const),
    ] as const;
  };
  metrics.read({
    fleet_spending_ceiling_tokens: () => [
      [{ scope: 'task_tree', caller: 'all' }, view().taskTree],
      ...each('limit'),
    ],
    fleet_spending_spent_tokens: () => each('spent'),
    fleet_spending_reserved_tokens: () => each('reserved'),
  });
}

function dispatchOf(record: TaskRecord, versions: readonly string[]): TaskDispatch | undefined {
  try {
    const decoded = readDispatch(record.dispatch, versions);
    return decoded.kind === 'dispatch' ? decoded.dispatch : undefined;
  } catch {
    // It cannot be resumed either, and ends when the dispatcher tries.
    return undefined;
  }
}

const whenBehindFrees = (day: string, clockDay: string): string =>
  `at ${endOf(day)}, or when the profile has run for 24 hours with its clock before ${day}, for which tokens are booked (it is on ${clockDay}: set it if it is wrong)`;

const endOf = (day: string): string => new Date(Date.parse(day) + DAY_MS).toISOString();

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** True if the profile's own executor gets the dispatch, and not the relay. */
export function isOwnWork(
  { routing }: Pick<TaskDispatch, 'routing'>,
  profile: string,
  orchestrate: boolean,
): boolean {
  const target = routing?.target ?? 'auto';
  return target === profile || (target === 'auto' && !orchestrate);
}

/** An unfinished task that may still spend the rest of its budget. */
interface Reservation {
  readonly caller: string;
  /** The profile's own model works for it. */
  readonly isOwn: boolean;
  /** Tokens. */
  readonly budget: number;
  /** The tokens that it has spent of its budget. */
  readonly used: number;
}

/** The tokens that unfinished tasks may still spend, with sums that cost the same however many tasks there are. */
function createReservations() {
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

import { existsSync } from 'node:fs';
import { openFigures } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import { createSpending, leftOf, type SpendingOptions, type SpendingView } from '@hermes-fleet/tasks';
import { type Finding, type FindingList, findingsOn } from './finding.ts';

export interface ExamineSpendingOptions extends Omit<SpendingOptions, 'figures'> {
  readonly ledgerFile: string;
}

/**
 * Reports what is left of each ceiling on spending (docs/configuration.md#spending). Reads the ledger, which the gateway may
 * use at the same time. Reports nothing if no ceiling is set.
 */
export function examineSpending(options: ExamineSpendingOptions): readonly Finding[] {
  const { tokens_per_day: day, tokens_per_task_tree: tree, callers } = options.config.fleet.spending;
  if (day === undefined && tree === undefined && Object.keys(callers).length === 0) return [];
  const findings = findingsOn('spending');
  try {
    addCeilings(findings, viewOf(options));
  } catch (thrown) {
    findings.skipped('ledger', FleetError.from(thrown).message);
  }
  return findings.all;
}

/** A profile that never ran has spent nothing. */
function viewOf(options: ExamineSpendingOptions): SpendingView {
  if (!existsSync(options.ledgerFile)) {
    const figures = {
      latestDay: () => undefined,
      spentOn: () => [],
      spentBy: () => ({ tokens: 0, cacheTokens: 0 }),
    };
    return createSpending({ ...options, figures }).view();
  }
  const reader = openFigures(options.ledgerFile);
  try {
    const spending = createSpending({ ...options, figures: reader.figures });
    spending.restore(reader);
    return spending.view();
  } finally {
    reader.close();
  }
}

function addCeilings(
  findings: FindingList,
  { day, clockDay, endsAt, taskTree, profile, callers }: SpendingView,
): void {
  if (clockDay !== undefined) {
    const detail = `the clock is on ${clockDay}, before ${day}, for which tokens are booked: further ones count for ${day}`;
    findings.warning(
      'clock',
      detail,
      'set the clock if it is wrong; else it passes after 24 hours of running',
    );
  }
  if (taskTree !== undefined)
    findings.ok('tokens_per_task_tree', `${taskTree} tokens for a task and all that it delegates`);
  const days = [...callers].map(([name, figures]) => [`callers.${name}.tokens_per_day`, figures] as const);
  for (const [key, figures] of [['tokens_per_day', profile] as const, ...days]) {
    const { limit, spent, reserved } = figures;
    const left = leftOf(figures);
    if (limit === undefined || left === undefined) continue;
    const detail = `${left} of ${limit} tokens are left on ${day} UTC (${spent} spent, ${reserved} reserved by unfinished tasks)`;
    if (left > 0) findings.ok(key, detail);
    else findings.warning(key, detail, `wait until ${endsAt}, or raise fleet.spending.${key}`);
  }
}

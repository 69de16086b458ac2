import type { Verdict } from './run-brief.ts';

const WIDTHS = { outcome: 7, status: 8, tokens: 7, steps: 5, compactions: 7, seconds: 6 };

/** The results table, rendered line by line because a brief may take minutes. */
export function tableOf(names: readonly string[]) {
  const width = Math.max(...names.map((name) => name.length), 'total'.length);
  const line = (name: string, cells: readonly string[], guards: string): string => {
    const [outcome = '', status = '', tokens = '', steps = '', compactions = '', seconds = ''] = cells;
    return [
      ...[name.padEnd(width), outcome.padEnd(WIDTHS.outcome), status.padEnd(WIDTHS.status)],
      ...[tokens.padStart(WIDTHS.tokens), steps.padStart(WIDTHS.steps)],
      ...[compactions.padStart(WIDTHS.compactions), seconds.padStart(WIDTHS.seconds)],
      guards,
    ]
      .join('  ')
      .trimEnd();
  };
  return {
    head: () => line('brief', ['outcome', 'status', 'tokens', 'steps', 'compact', 's'], 'guards'),
    row(verdict: Verdict): string {
      const { name, outcome, status, tokens, steps, compactions, seconds, guards, why } = verdict;
      const figures = [tokens, steps, compactions.length].map(String);
      const cells = [outcome, status, ...figures, seconds.toFixed(1)];
      return [line(name, cells, counted(guards)), ...why.map((reason) => `    ${reason}`)].join('\n');
    },
    total(verdicts: readonly Verdict[]): string {
      const { passed, failed, skipped, tokens, steps, compactions, seconds, guards } = totals(verdicts);
      const skips = skipped > 0 ? `, ${skipped} skipped` : '';
      const row = line(
        'total',
        ['', '', ...[tokens, steps, compactions].map(String), seconds.toFixed(1)],
        `${guards} interventions`,
      );
      return `${row}\n${passed} passed, ${failed} failed${skips}`;
    },
  };
}

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly tokens: number;
  readonly steps: number;
  readonly compactions: number;
  readonly guards: number;
  readonly seconds: number;
}

export function totals(verdicts: readonly Verdict[]): Totals {
  const count = (outcome: Verdict['outcome']): number =>
    verdicts.filter((verdict) => verdict.outcome === outcome).length;
  const sum = (of: (verdict: Verdict) => number): number =>
    verdicts.reduce((total, verdict) => total + of(verdict), 0);
  return {
    passed: count('pass'),
    failed: count('fail'),
    skipped: count('skip'),
    tokens: sum(({ tokens }) => tokens),
    steps: sum(({ steps }) => steps),
    compactions: sum(({ compactions }) => compactions.length),
    guards: sum(({ guards }) => guards.length),
    seconds: sum(({ seconds }) => seconds),
  };
}

/** Groups equal interventions: three times `verify warn` becomes `verify warn ×3`. */
function counted(guards: readonly string[]): string {
  const groups = Object.entries(Object.groupBy(guards, (guard) => guard));
  return groups.map(([guard, all = []]) => (all.length > 1 ? `${guard} ×${all.length}` : guard)).join(', ');
}

import type { EvalBrief } from './brief.ts';
import type { EvalSettings } from './model.ts';
import { runBrief, type Verdict } from './run-brief.ts';

/** Runs briefs, so many at a time, and tells of each as it ends. In the order of the briefs. */
export async function evaluate(
  briefs: readonly { readonly brief: EvalBrief; readonly id: string }[],
  settings: EvalSettings,
  o: { readonly parallel: number; readonly signal: AbortSignal; onVerdict(verdict: Verdict): void },
): Promise<Verdict[]> {
  const verdicts = new Map<string, Verdict>();
  const waiting = [...briefs];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const verdict = await runBrief(next.brief, next.id, settings, o.signal);
      verdicts.set(next.brief.name, verdict);
      o.onVerdict(verdict);
    }
  };
  await Promise.all(Array.from({ length: o.parallel }, worker));
  return briefs.flatMap(({ brief }) => verdicts.get(brief.name) ?? []);
}

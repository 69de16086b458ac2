import type { EvalBrief } from './brief.ts';
import type { EvalSettings } from './model.ts';
import { runBrief, type Verdict } from './run-brief.ts';

/** Runs briefs, `parallel` at a time, and reports each verdict when its run ends. Resolves in the order of the briefs. */
export async function evaluate(
  briefs: readonly { readonly brief: EvalBrief; readonly id: string }[],
  settings: EvalSettings,
  {
    parallel,
    signal,
    onVerdict,
  }: { readonly parallel: number; readonly signal: AbortSignal; onVerdict(verdict: Verdict): void },
): Promise<Verdict[]> {
  const verdicts = new Map<string, Verdict>();
  const queue = [...briefs];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const verdict = await runBrief(next.brief, next.id, settings, signal);
      verdicts.set(next.brief.name, verdict);
      onVerdict(verdict);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return briefs.flatMap(({ brief }) => verdicts.get(brief.name) ?? []);
}

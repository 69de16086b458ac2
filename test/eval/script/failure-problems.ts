import type { RunEvent } from '@hermes-fleet/protocol/ports';
import type { Step } from './script.ts';

/** Compares the failed tool calls of a run with those that the played steps expect, tool by tool. */
export function failureProblems(steps: readonly Step[], events: readonly RunEvent[]): string[] {
  const failed = countBy(
    events.flatMap(({ type, ...event }) =>
      type === 'progress' && 'data' in event && event.data.phase === 'ended' && event.data.ok === false
        ? [String(event.data.tool)]
        : [],
    ),
  );
  const toolsOf = (are: (step: Step, fails: boolean | undefined) => boolean): Map<string, number> =>
    countBy(
      steps.flatMap((step) =>
        (step.calls ?? []).flatMap(({ tool, fails }) => (are(step, fails) ? [tool] : [])),
      ),
    );
  const expected = toolsOf((_, fails) => fails === true);
  // Whether a call that was cut is reported as a call at all is the loop's choice.
  const allowed = toolsOf(({ cutAfter }, fails) => fails === true || cutAfter !== undefined);
  return [...new Set([...failed.keys(), ...expected.keys()])].flatMap((tool) => {
    const count = failed.get(tool) ?? 0;
    const least = expected.get(tool) ?? 0;
    if (count >= least && count <= (allowed.get(tool) ?? 0)) return [];
    return [`${tool} failed ${count} times, and the script expects ${least}`];
  });
}

function countBy(names: readonly string[]): Map<string, number> {
  const groups = Object.entries(Object.groupBy(names, (name) => name));
  return new Map(groups.map(([name, all = []]) => [name, all.length]));
}

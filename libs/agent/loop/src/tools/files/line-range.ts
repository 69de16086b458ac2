import { z } from 'zod';
import type { AgentTool } from '../../run/conversation.ts';

const Line = z.coerce.number().int().min(1);
/** The ranges of other agents' tools: first and last line, from 1; the last one -1 for all that follow. */
const Range = z.union([
  z
    .looseObject({ view_range: z.tuple([Line, z.union([Line, z.literal(-1)])]) })
    .transform(({ view_range: [first, last], ...others }) => ({
      first,
      last,
      others,
      names: 'view_range is',
    })),
  z
    .looseObject({ start_line: Line, end_line: Line })
    .transform(({ start_line: first, end_line: last, ...others }) => ({
      ...{ first, last, others },
      names: 'start_line and end_line are',
    })),
]);

/** The tool, which has `offset` and `limit`, with ranges of lines understood too: their first `maxLines` lines. */
export function withLineRange(tool: AgentTool, maxLines: number): AgentTool {
  const understand = (raw: unknown) => {
    const range = Range.safeParse(raw).data;
    if (range === undefined || 'offset' in range.others || 'limit' in range.others)
      return { input: raw, notes: [] };
    const { first, last, others, names } = range;
    if (last !== -1 && last < first) return { input: raw, notes: [] };
    const limit = last === -1 ? {} : { limit: Math.min(last - first + 1, maxLines) };
    return { input: { ...others, offset: first, ...limit }, notes: [`${names} read as offset and limit`] };
  };
  return {
    ...tool,
    readInput(raw) {
      const { input, notes } = understand(raw);
      const read = tool.readInput?.(input) ?? { input, notes: [] };
      return { ...read, notes: [...notes, ...read.notes] };
    },
    run: (raw, call) => tool.run(understand(raw).input, call),
  };
}

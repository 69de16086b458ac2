import type { Log } from '@hermes-fleet/protocol/ports';
import { AgentConfigSchema } from '../../src/config/config-yaml.ts';
import { createGuards } from '../../src/guards/guards.ts';
import { GuardState, type JournalEntry } from '../../src/run/run-state.ts';
import type { Trace, TraceCall } from './trace.ts';

const READ_ONLY =
  /^(?:read|list|find|grep|progress_read|memory_read|memory_list|scratchpad_read|scratchpad_list|web_)/;

export interface Played {
  /** The steps after which the guards ended the run; undefined if they did not. */
  readonly stoppedAfter: number | undefined;
  readonly reason: string | undefined;
  readonly notes: readonly string[];
}

/** Plays a trace through the guards as the loop does. With `restarts`, from a checkpoint between every two steps. */
export async function play({ steps }: Trace, log: Log, restarts = false): Promise<Played> {
  const { hooks } = AgentConfigSchema.parse({});
  const notes: string[] = [];
  let journal: JournalEntry[] = [];
  const start = (state?: GuardState) =>
    createGuards(hooks, { taskId: 'task', journal, files: undefined, canRun: true, log }, state);
  let guards = start();
  for (const [at, calls] of [...steps, []].entries()) {
    guards.beforeStep(at);
    const { stop } = guards.state();
    if (stop !== undefined) return { stoppedAfter: at, reason: stop.reason, notes };
    for (const [index, call] of calls.entries()) {
      const guarded = await guards.after(
        { tool: call.tool, input: call.input, key: `${at}.${index}`, mutates: !READ_ONLY.test(call.tool) },
        { ...call.result, ...detailOf(call) },
      );
      notes.push(...guarded.notes.map((note) => `${at}: ${note}`));
    }
    if (!restarts) continue;
    journal = JSON.parse(JSON.stringify(journal));
    guards = start(GuardState.parse(JSON.parse(JSON.stringify(guards.state()))));
  }
  return { stoppedAfter: undefined, reason: undefined, notes };
}

/** What the tools record in the journal. */
function detailOf({ tool, input: { path = '.', pattern, command }, result }: TraceCall): { detail?: string } {
  if (tool === 'shell_exec') return { detail: String(command) };
  if (!result.ok || typeof path !== 'string') return {};
  if (tool === 'grep_files') return { detail: `${String(pattern)} in ${path}` };
  return /^(?:read|write|edit)_file$/.test(tool) ? { detail: path } : {};
}

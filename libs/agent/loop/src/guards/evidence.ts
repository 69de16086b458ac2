import type { Evidence, Priority, ReplySchema } from '@hermes-fleet/protocol/handshake';
import type { Unverified } from '../messages/follow-up-prompts.ts';
import { cut } from '../messages/text.ts';
import type { JournalEntry } from '../run/run-state.ts';
import { effectsOf, filesGiven } from './commands/effects.ts';
import { onlyLooks, searchesOutput } from './commands/looks.ts';
import { createVerification, isFileTool, isStart, isWrite, lookedAt } from './verification.ts';

const MAX_EVIDENCE = 100;

/** Maximum verification prompts by priority (docs/handshake.md#priority-and-verification). */
const NUDGES: Readonly<Record<Priority, number>> = { low: 0, normal: 2, high: 3, urgent: 3 };

/** A structured reply is never `done` while unverified, so even a low-priority task gets one prompt. */
export const maxNudges = (priority: Priority, reply: ReplySchema): number =>
  Math.max(NUDGES[priority], reply === 'structured' ? 1 : 0);

/** True if the priority requires an independent review. */
export const isDeep = (priority: Priority): boolean => priority === 'high' || priority === 'urgent';

/** Names of tools that a model makes up for writing. */
const WRITING = /write|edit|create|patch|replace|save|append|insert/i;
/** Names of tools with which it keeps its own notes (but `NotebookEdit` edits a file). */
const NOTING = /todo|task|plan|memory|note(?!book)|progress|scratchpad/i;

/** True if a refused call of this tool was to change something; a list of tasks is none. */
export const isRefusedChange = (tool: string): boolean => WRITING.test(tool) && !NOTING.test(tool);

/**
 * The last call that was to change something, successful or not. Looks are none, nor is a failed or interrupted write whose
 * file was read since. A refused call is one if it was to write, or is a command where no call succeeded.
 */
export function lastChange(journal: readonly JournalEntry[]): JournalEntry | undefined {
  const isAlone = !journal.some(({ ok }) => ok);
  return journal.findLast((entry, at) => {
    const { tool, detail = '', exit_code: exitCode } = entry;
    if (entry.refused) return isRefusedChange(tool) || (isAlone && tool === 'shell_exec');
    if (isFileTool(entry)) return !wasReadAgain(journal, entry, at);
    if (isStart(entry) && !entry.ok) return true;
    if (tool !== 'shell_exec') return false;
    if (exitCode === 1 && searchesOutput(detail)) return false;
    const ended = typeof exitCode === 'number' || entry.unknown;
    return !(ended && onlyLooks(detail));
  });
}

/** True for a write that failed where an earlier call wrote the file, or that a restart interrupted, if it was read since. */
function wasReadAgain(journal: readonly JournalEntry[], write: JournalEntry, at: number): boolean {
  const { ok, detail: path } = write;
  if (ok || path === undefined) return false;
  const isThere = (entry: JournalEntry): boolean =>
    isFileTool(entry) && (entry.ok || entry.unknown === true) && entry.detail === path;
  if (!journal.slice(0, at + 1).some(isThere)) return false;
  return journal.slice(at + 1).some((entry) => {
    if (lookedAt(entry) === path) return true;
    if (entry.tool !== 'shell_exec' || !entry.ok) return false;
    return effectsOf(entry.detail ?? '').some(
      (effect) => effect.kind === 'check' && filesGiven(effect.how, effect.given, [path]).length > 0,
    );
  });
}

/** Files that a run wrote and did not verify afterwards. `canRun` is true if the run can execute commands. */
export const unverified = (journal: readonly JournalEntry[], canRun: boolean): Unverified =>
  verify(journal, canRun).unverified();

function verify(journal: readonly JournalEntry[], canRun: boolean) {
  const verification = createVerification(canRun);
  for (const entry of journal) verification.add(entry);
  return verification;
}

/** Commands with exit codes, and files read again after a write. `afterWrite`: no write (of that file) followed. */
export function evidenceOf(journal: readonly JournalEntry[]): Evidence[] {
  const verification = verify(journal, true);
  const evidence = journal.flatMap((entry, at): Evidence[] => {
    const { tool, detail = '', exit_code: exitCode } = entry;
    if (tool === 'shell_exec' && exitCode !== undefined)
      return [{ kind: 'command', detail: cut(detail), exitCode, afterWrite: verification.isAfterWrites(at) }];
    const path = lookedAt(entry);
    const writes = path === undefined ? undefined : verification.writesOf(path);
    if (writes === undefined || writes.first >= at) return [];
    return [{ kind: 'reread', detail: cut(path ?? ''), afterWrite: at > writes.last }];
  });
  return evidence.slice(-MAX_EVIDENCE);
}

/** Summarizes in one line what a run did. Undefined if no call succeeded. */
export function doneSoFar(journal: readonly JournalEntry[]): string | undefined {
  const written = [...new Set(journal.filter(isWrite).map(({ detail = '' }) => detail))];
  const ran = journal.filter(({ tool, ok }) => ok && tool === 'shell_exec');
  const facts = [
    ...(written.length > 0 ? [`wrote ${written.join(', ')}`] : []),
    ...ran.map(({ detail = '' }) => `ran ${detail.split('\n')[0]}`),
  ];
  if (facts.length > 0) return cut(facts.join('; '));
  return journal.some(({ ok }) => ok) ? 'looked at the workspace' : undefined;
}

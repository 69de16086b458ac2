import type { Evidence, Priority, ReplySchema } from '@hermes-fleet/protocol';
import type { Unverified } from '../messages/follow-up-prompts.ts';
import { cut } from '../messages/text.ts';
import type { JournalEntry } from '../run/run-state.ts';
import { createVerification, isFileTool, isFileWrite, lookedAt, type Verification } from './verification.ts';

const MAX_EVIDENCE = 100;

/** How often the model is told what it has not verified (design 3, B1; design 2, `priority`). */
const NUDGES: Readonly<Record<Priority, number>> = { low: 0, normal: 2, high: 3, urgent: 3 };

/** A structured reply is never done unverified, so even a task of low priority is told once. */
export const maxNudges = (priority: Priority, reply: ReplySchema): number =>
  Math.max(NUDGES[priority], reply === 'structured' ? 1 : 0);

/** Whether a second, independent check is due. */
export const isDeep = (priority: Priority): boolean => priority === 'high' || priority === 'urgent';

export const isWrite = isFileWrite;

/** The last call that changes something, whether it succeeded or not. */
export const lastChange = (journal: readonly JournalEntry[]): JournalEntry | undefined =>
  journal.findLast((entry) => isFileTool(entry) || entry.tool === 'shell_exec');

/** What a run has written and not verified since; `canRun` where it was offered commands. */
export const unverified = (journal: readonly JournalEntry[], canRun: boolean): Unverified =>
  verify(journal, canRun).unverified();

function verify(journal: readonly JournalEntry[], canRun: boolean): Verification {
  const verification = createVerification(canRun);
  for (const entry of journal) verification.add(entry);
  return verification;
}

/**
 * Commands with their exit codes, and files that were read again after they were written; `afterWrite` where no write
 * came after that (of the same file, for one that was read).
 */
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

/** What a run has done, in one line; undefined when nothing succeeded. */
export function doneSoFar(journal: readonly JournalEntry[]): string | undefined {
  const written = [...new Set(journal.filter(isFileWrite).map(({ detail = '' }) => detail))];
  const ran = journal.filter(({ tool, ok }) => ok && tool === 'shell_exec');
  const facts = [
    ...(written.length > 0 ? [`wrote ${written.join(', ')}`] : []),
    ...ran.map(({ detail = '' }) => `ran ${detail.split('\n')[0]}`),
  ];
  if (facts.length > 0) return cut(facts.join('; '));
  return journal.some(({ ok }) => ok) ? 'looked at the workspace' : undefined;
}

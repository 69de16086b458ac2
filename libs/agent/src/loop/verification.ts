import type { Evidence, Priority, ReplySchema } from '@hermes-fleet/protocol';
import type { JournalEntry } from './run-state.ts';

const WRITES = new Set(['write_file', 'edit_file']);
const MAX_EVIDENCE = 100;
const MAX_DETAIL = 500;

/** How often the model is told what it has not verified (design 2, `priority`). */
const NUDGES: Readonly<Record<Priority, number>> = { low: 0, normal: 1, high: 3, urgent: 3 };

/** A structured reply is never done unverified, so even a task of low priority is told once. */
export const maxNudges = (priority: Priority, reply: ReplySchema): number =>
  Math.max(NUDGES[priority], reply === 'structured' ? 1 : 0);

/** Whether a second, independent check is due. */
export const isDeep = (priority: Priority): boolean => priority === 'high' || priority === 'urgent';

export const isWrite = ({ tool, ok }: JournalEntry): boolean => ok && WRITES.has(tool);

/** The last call that changes something, whether it succeeded or not. */
export const lastChange = (journal: readonly JournalEntry[]): JournalEntry | undefined =>
  journal.findLast(({ tool }) => WRITES.has(tool) || tool === 'shell_exec');

/** The files after whose last write no command succeeded and that were not read again, in order. */
export function unverifiedFiles(journal: readonly JournalEntry[]): string[] {
  const open = new Set<string>();
  for (const entry of journal) {
    if (isWrite(entry)) open.add(entry.detail ?? '');
    else if (entry.ok && entry.tool === 'shell_exec') open.clear();
    else if (entry.ok && entry.tool === 'read_file') open.delete(entry.detail ?? '');
  }
  return [...open];
}

/**
 * Commands with their exit codes, and files that were read again after they were written; `afterWrite` where no write
 * came after that (of the same file, for one that was read).
 */
export function evidenceOf(journal: readonly JournalEntry[]): Evidence[] {
  const lastWrites = new Map<string, number>();
  for (const [at, entry] of journal.entries()) if (isWrite(entry)) lastWrites.set(entry.detail ?? '', at);
  const lastWrite = journal.findLastIndex(isWrite);
  const written = new Set<string>();
  const evidence: Evidence[] = [];
  for (const [at, entry] of journal.entries()) {
    const { tool, ok, detail = '', exit_code: exitCode } = entry;
    if (isWrite(entry)) written.add(detail);
    if (tool === 'shell_exec' && exitCode !== undefined) {
      const afterWrite = lastWrite !== -1 && at > lastWrite;
      evidence.push({ kind: 'command', detail: cut(detail), exitCode, afterWrite });
    }
    if (tool === 'read_file' && ok && written.has(detail)) {
      evidence.push({ kind: 'reread', detail: cut(detail), afterWrite: at > (lastWrites.get(detail) ?? -1) });
    }
  }
  return evidence.slice(-MAX_EVIDENCE);
}

/** What a run has done, in one line; undefined when nothing succeeded. */
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

export const cut = (text: string): string =>
  text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL)}…` : text;

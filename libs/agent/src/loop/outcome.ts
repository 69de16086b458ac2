import type { Evidence, ReplySchema, RunOutcome } from '@hermes-fleet/protocol';
import type { JournalEntry } from './conversation.ts';
import { readFinalMessage, readJsonReply } from './final-message.ts';

const WRITES = new Set(['write_file', 'edit_file']);
const CHANGES = new Set([...WRITES, 'shell_exec']);
const MAX_EVIDENCE = 100;
const MAX_DETAIL = 500;

/** How a run ended: the model finished, or something ended it. */
export type RunEnd =
  | { readonly kind: 'finished'; readonly finishReason: string }
  | { readonly kind: 'stopped'; readonly code: string; readonly reason: string; readonly retryable: boolean };

/**
 * The result of a run (design 2, TASK_RESULT). `done` takes more than the model's word: the last thing that it did must
 * not have failed, a structured reply needs a check after the last write, a JSON reply must be JSON.
 */
export function outcome(o: {
  readonly end: RunEnd;
  readonly message: string;
  readonly reply: ReplySchema;
  readonly journal: readonly JournalEntry[];
  readonly filesChanged: string[];
}): RunOutcome {
  const { text, claim } = readFinalMessage(o.message);
  const nextSteps = claim === 'unreadable' ? [] : claim.nextSteps;
  const evidence = evidenceOf(o.journal);
  const base = {
    blockedReason: null,
    artifacts: { pr: null, filesChanged: o.filesChanged },
    evidence,
    text,
    nextSteps,
  };
  const partial = (remaining: string[]): RunOutcome => ({ ...base, status: 'partial', remaining });
  if (o.end.kind === 'stopped') {
    if (o.journal.some(({ ok }) => ok))
      return partial([`what the brief asks for beyond the work so far: ${o.end.reason}`]);
    const { code, reason: message, retryable } = o.end;
    return { ...base, status: 'error', error: { code, message, retryable } };
  }
  if (claim === 'unreadable') return partial(['unknown: the outcome that the model stated cannot be read']);
  if (claim.status === 'error') {
    const message = 'the agent could not do what the brief asks; its text says why';
    const unfinished = claim.remaining.length > 0 ? { remaining: claim.remaining } : {};
    return {
      ...base,
      ...unfinished,
      status: 'error',
      error: { code: 'task_failed', message, retryable: false },
    };
  }
  if (claim.status === 'partial') {
    return partial(claim.remaining.length > 0 ? claim.remaining : ['unknown: the model names nothing']);
  }
  const output = o.reply === 'json' ? readJsonReply(text) : undefined;
  const doubts = doubtsOf(o, o.end.finishReason, output === undefined);
  if (doubts.length > 0) return partial(doubts);
  return output === undefined ? { ...base, status: 'done' } : { ...base, status: 'done', output };
}

function doubtsOf(
  o: { reply: ReplySchema; journal: readonly JournalEntry[] },
  finishReason: string,
  noJson: boolean,
): string[] {
  const doubts: string[] = [];
  if (finishReason === 'length') doubts.push('the end of the answer: it was cut at the output limit');
  if (['content-filter', 'error'].includes(finishReason)) {
    doubts.push(`the end of the answer: the model stopped (${finishReason})`);
  }
  const last = o.journal.findLast(({ tool }) => CHANGES.has(tool));
  if (last?.ok === false)
    doubts.push(`the last ${last.tool} failed: ${cut(last.detail ?? 'its input was wrong')}`);
  if (o.reply === 'structured' && !isVerified(o.journal))
    doubts.push('nothing was verified after the last write');
  if (o.reply === 'json' && noJson) doubts.push('the reply is not JSON');
  return doubts;
}

/** Whether after the last write a command succeeded, or all that was written was read again. */
function isVerified(journal: readonly JournalEntry[]): boolean {
  const last = journal.findLastIndex(({ tool, ok }) => ok && WRITES.has(tool));
  if (last === -1) return true;
  const after = journal.slice(last + 1).filter(({ ok }) => ok);
  if (after.some(({ tool }) => tool === 'shell_exec')) return true;
  const read = new Set(after.filter(({ tool }) => tool === 'read_file').map(({ detail }) => detail));
  return journal.every(({ tool, ok, detail }) => !ok || !WRITES.has(tool) || read.has(detail));
}

/** Commands with their exit codes, and files that were read again after they were written. */
function evidenceOf(journal: readonly JournalEntry[]): Evidence[] {
  const written = new Set<string>();
  const evidence: Evidence[] = [];
  for (const { tool, ok, detail = '', exit_code: exitCode } of journal) {
    if (ok && WRITES.has(tool)) written.add(detail);
    if (tool === 'shell_exec' && exitCode !== undefined) {
      evidence.push({ kind: 'command', detail: cut(detail), exitCode, afterWrite: written.size > 0 });
    }
    if (tool === 'read_file' && ok && written.has(detail)) {
      evidence.push({ kind: 'reread', detail: cut(detail), afterWrite: true });
    }
  }
  return evidence.slice(-MAX_EVIDENCE);
}

const cut = (text: string): string => (text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL)}…` : text);

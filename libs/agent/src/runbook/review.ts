import { filesOfDiff, renderVerdict } from '../messages/review-prompt.ts';
import { field, type PastCall } from './report.ts';
import type { Decision } from './runbook.ts';

/**
 * What offline/runbook does as the second check: it reads the files of the diff again and says what is there. It judges
 * nothing, and says so.
 */
export function decideReview(o: {
  readonly request: string;
  readonly past: readonly PastCall[];
  readonly tools: ReadonlySet<string>;
}): Decision {
  const files = filesOfDiff(o.request).slice(0, MAX_FILES);
  const read = new Map(o.past.map(({ input, outcome }) => [field(input, 'path'), outcome]));
  const unread = files.filter((path) => !read.has(path));
  if (unread.length > 0 && o.tools.has('read_file')) {
    return { kind: 'call', calls: unread.map((path) => ({ tool: 'read_file', input: { path } })) };
  }
  const lines = files.map((path) => `${path} ${SAYS[read.get(path) ?? 'unknown']}`);
  const text = `offline/runbook looks and does not judge: ${lines.join(', ') || 'no file to read'}.`;
  return { kind: 'finish', text: `${text}\n\n${renderVerdict('not_judged')}` };
}

const MAX_FILES = 20;
const SAYS: Readonly<Record<PastCall['outcome'], string>> = {
  ok: 'is there',
  failed: 'could not be read',
  unknown: 'was not read',
  not_run: 'was not read',
};

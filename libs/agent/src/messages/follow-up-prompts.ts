/** Writes that no check has verified. */
export interface Unverified {
  /** Files, and in backticks commands that changed files they don't name; in the order of their last writes. */
  readonly files: readonly string[];
  /** Why the last check since then does not count; undefined when there was none. */
  readonly why: string | undefined;
}

/** The prompts that the loop sends besides the task. */
export type FollowUpKind = 'wrap_up' | 'verify' | 'repair' | 'objections' | 'verdict';

/** The first words of each kind: offline/runbook recognizes a prompt by them. */
const HEADS: Readonly<Record<FollowUpKind, string>> = {
  wrap_up: 'Wrap up now.',
  verify: 'Not verified yet.',
  repair: 'The reply does not fit.',
  objections: 'A second, independent check objects.',
  verdict: 'Give your verdict now.',
};

const KINDS: readonly FollowUpKind[] = ['wrap_up', 'verify', 'repair', 'objections', 'verdict'];

/** The kind of a user's message; undefined for the task itself. */
export function followUpKind(message: string): FollowUpKind | undefined {
  return KINDS.find((kind) => message.startsWith(HEADS[kind]));
}

/** Sent near the end of the budget (docs/agent.md#the-loop). */
export const wrapUpPrompt = (leftTokens: number): string =>
  `${HEADS.wrap_up} The token budget is nearly spent: ${leftTokens} tokens are left, and the tools are off. Answer ` +
  'briefly what is done, and end with the fenced block `outcome`: {"status":"done"} only if nothing is left to do, ' +
  'else {"status":"partial","remaining":[…]} that names everything that remains.';

/** Sent when the model finishes with unverified writes (docs/agent.md#guards). */
export const verifyPrompt = ({ files, why }: Unverified): string =>
  `${HEADS.verify} Nothing was checked after the last write of ${list(files)}.${why === undefined ? '' : ` ${why}.`} ` +
  'Run a check that ends with exit code 0 (a test, a build, a linter, or the program itself), or read prose again; ' +
  'correct what is wrong, then finish with your whole reply. If it cannot be checked, say so in it.';

/** Parses the files out of a verify prompt, without the commands. */
export function filesToVerify(message: string): string[] {
  const [, names = ''] =
    /after the last write of (.+?)(?: and \d+ more)?\.(?: `.*)? Run a check/.exec(message) ?? [];
  return names.split(', ').filter((name) => name !== '' && !name.startsWith('`'));
}

/** Sent after a reply that does not fit its schema (docs/handshake.md#reply-schemas). */
export const repairPrompt = (problems: readonly string[], request: string): string =>
  `${HEADS.repair}\n${bullets(problems)}\nThe tools are off. Reply once more, and so that it fits: ${request}`;

/** Hands the review's objections back to the model. */
export const objectionsPrompt = (objections: readonly string[]): string =>
  `${HEADS.objections} It has seen only the task and the diff, and may be wrong:\n${bullets(objections)}\n` +
  'Correct what is right about that, verify what you change, and finish with your whole reply.';

/** Sent to a review near the end of its budget. */
export const verdictPrompt = (): string =>
  `${HEADS.verdict} The tokens for this check are nearly spent, and the tools are off. End with the fenced block \`review\`.`;

const MAX_LISTED = 20;

function list(files: readonly string[]): string {
  const more = files.length > MAX_LISTED ? ` and ${files.length - MAX_LISTED} more` : '';
  return `${files.slice(0, MAX_LISTED).join(', ')}${more}`;
}

const bullets = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n');

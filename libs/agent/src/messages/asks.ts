/** What is left to verify. */
export interface Unverified {
  /** Files, and in backticks commands that changed what they don't name; in the order of their last writes. */
  readonly files: readonly string[];
  /** Why the last check since then does not count, where there was one. */
  readonly why: string | undefined;
}

/** What the loop asks of the model beside the task itself. */
export type FollowUpKind = 'wrap_up' | 'verify' | 'repair' | 'objections' | 'verdict';

/** How each begins, so that a model that reads words only knows it. */
const HEADS: Readonly<Record<FollowUpKind, string>> = {
  wrap_up: 'Wrap up now.',
  verify: 'Not verified yet.',
  repair: 'The reply does not fit.',
  objections: 'A second, independent check objects.',
  verdict: 'Give your verdict now.',
};

const KINDS: readonly FollowUpKind[] = ['wrap_up', 'verify', 'repair', 'objections', 'verdict'];

/** Which of them a user's message is; undefined for the task itself. */
export function followUpKind(message: string): FollowUpKind | undefined {
  return KINDS.find((kind) => message.startsWith(HEADS[kind]));
}

/** Near the end of the budget (design 2, Tokens). */
export const wrapUpPrompt = (leftTokens: number): string =>
  `${HEADS.wrap_up} The token budget is nearly spent: ${leftTokens} tokens are left, and the tools are off. Answer ` +
  'briefly what is done, and end with the fenced block `outcome`: {"status":"done"} only if nothing is left to do, ' +
  'else {"status":"partial","remaining":[…]} that names everything that remains.';

/** After a run that wrote and checked nothing (design 3, B1). */
export const verifyPrompt = ({ files, why }: Unverified): string =>
  `${HEADS.verify} Nothing was checked after the last write of ${list(files)}.${why === undefined ? '' : ` ${why}.`} ` +
  'Run a check that ends with exit code 0 (a test, a build, a linter, or the program itself), or read prose again; ' +
  'correct what is wrong, then finish with your whole reply. If it cannot be checked, say so in it.';

/** The files that are named there, as far as they can be read. */
export function filesToVerify(message: string): string[] {
  const [, names = ''] =
    /after the last write of (.+?)(?: and \d+ more)?\.(?: `.*)? Run a check/.exec(message) ?? [];
  return names.split(', ').filter((name) => name !== '' && !name.startsWith('`'));
}

/** After a reply that missed its schema (design 2, TASK_DISPATCH). */
export const repairPrompt = (problems: readonly string[], request: string): string =>
  `${HEADS.repair}\n${bullets(problems)}\nThe tools are off. Reply once more, and so that it fits: ${request}`;

/** What the second check found, handed back. */
export const objectionsPrompt = (objections: readonly string[]): string =>
  `${HEADS.objections} It has seen only the task and the diff, and may be wrong:\n${bullets(objections)}\n` +
  'Correct what is right about that, verify what you change, and finish with your whole reply.';

/** To the second check, when it has to come to an end. */
export const verdictPrompt = (): string =>
  `${HEADS.verdict} The tokens for this check are nearly spent, and the tools are off. End with the fenced block \`review\`.`;

const MAX_LISTED = 20;

function list(files: readonly string[]): string {
  const more = files.length > MAX_LISTED ? ` and ${files.length - MAX_LISTED} more` : '';
  return `${files.slice(0, MAX_LISTED).join(', ')}${more}`;
}

const bullets = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n');

/** Services that document `[skip <name>]` or `[<name> skip]`. */
const SERVICES = [
  'actions',
  'appveyor',
  'azp(?:ipelines)?',
  'azure[ -]?pipelines?',
  'cd',
  'cf[ -]pages',
  'chromatic',
  'circle[ -]?ci',
  'deploy',
  'drone',
  'eas',
  'netlify',
  'release',
  'render',
  'travis(?:[ -]?ci)?',
  'vela',
  'vercel',
  'woodpecker',
].join('|');

/** Begins as the key of an issue does, and is none: UTF-8, SHA-256. */
const STANDARD =
  '(?:AES|BASE|CVE|CWE|ECMA|ES|GPT|HTTP|IEEE|IPV|ISO|MD|PEP|RFC|RSA|SHA|SSE|TLS|UCS|USB|UTF|WCAG)-';
/** A key of Jira or Linear: PROJ-12. Case counts, or `step-2` would be one. */
const KEY = String.raw`(?-i:(?<![A-Za-z0-9])(?!${STANDARD})[A-Z][A-Z0-9_]+-\d+)`;

const CLOSES = [
  'clos(?:e[sd]?|ing)',
  'complet(?:e[sd]?|ing)',
  'fix(?:e[sd]|ing)?',
  'implement(?:s|ed|ing)?',
  'reopen(?:s|ed|ing)?',
  'resolv(?:e[sd]?|ing)',
].join('|');

/** #12, !12, web#12, acme/web#12, AB#12, GH-12, issue 12, PROJ-12, or an address. */
const ISSUE = [
  String.raw`(?:(?:issues?|bugs?|tickets?)\s+)?(?:[\w.\-]{1,100}(?:\/[\w.\/\-]{1,100})?)?[#!]\d+`,
  String.raw`(?:(?:issues?|bugs?|tickets?)\s+|GH-)\d+`,
  String.raw`https?:\/\/\S{1,300}?\/(?:issues?|pull|merge_requests|work_items|browse|edit)\/(?:\w+-)?\d+(?:[\/?#][\w\/?#=&.\-]*[\w\/])?`,
  KEY,
].join('|');

const CLOSING = `(?<![a-z0-9])(${CLOSES})`;

/** Patterns that forges obey in a commit message, and how each is reworded. */
const REWORDED: readonly (readonly [RegExp, string])[] = [
  // Smart commits of Jira: PROJ-12 #close, PROJ-12 some words #time 2d.
  [new RegExp(String.raw`(?<=${KEY}(?!\d).*\s)#(?=[A-Za-z])`, 'g'), ''],
  // No checks for the commit: [skip ci], [ci-skip], [no ci], [azp skip]. GitLab also takes [skip_ci], Woodpecker [skipci].
  [
    new RegExp(
      String.raw`\[\s*(skip[\s_-]*ci|ci[\s_-]*skip|no[\s-]+ci|skiprun|skip[\s-]+(?:${SERVICES})|(?:${SERVICES})[\s-]+skip)\s*\]`,
      'giu',
    ),
    '($1)',
  ],
  [/\*{3,}\s*(NO_CI)\s*\*{3,}/gi, '$1'],
  [/(skip-checks)(?:\s*:)+\s*(true)/gi, '$1 $2'],
  // Statements of people, and the trailer of the gateway. Some checks find them in any line.
  [
    /((?:signed-off|co-authored|co-developed|authored|committed|reviewed|acked|approved|tested|reported|suggested|helped|merged|pushed)-by|fleet-task)(?:\s*:)+/gi,
    '$1',
  ],
  // Keywords that close an issue: Fixes #12, closes acme/web#12, Fixes AB#12, Closes PROJ-12, closes: [#12](…).
  [new RegExp(String.raw`${CLOSING}(?:\s*:\s*|\s+|(?=[#!]))(${ISSUE})`, 'giu'), '$1 (see $2)'],
  [new RegExp(String.raw`${CLOSING}\s*:?\s*([*_~\x60\[\(<]+(?:${ISSUE}))`, 'giu'), '$1: see $2'],
];

/**
 * The text without what makes a forge skip checks, close issues, or take somebody for an author or a reviewer of the commit. All
 * else stays as it is, also `@name`: it cannot be told from a decorator or the scope of a package.
 */
export function harmless(text: string): string {
  const next = REWORDED.reduce((known, [what, words]) => known.replace(what, words), text);
  // One rewording may leave another pattern: fix fix#12.
  return next === text ? text : harmless(next);
}

/**
 * The line without a command for GitLab at its start, such as `/approve`: the description of a merge request may begin as the
 * message of its commit, and whoever submits it runs the commands. A path with a folder, `/etc/hosts`, is none.
 */
export const withoutCommand = (line: string): string =>
  line.replace(/^(\s*)(\/[a-z][\w-]*)(?=\s|$)/i, '$1`$2`');

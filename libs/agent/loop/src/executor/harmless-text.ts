/** What forges obey in a commit message, and how it is reworded. */
const REWORDED: readonly (readonly [RegExp, string])[] = [
  // No checks for the commit: [skip ci], [ci-skip], [no ci], [skip azure pipelines], ***NO_CI***, skip-checks: true.
  [
    /\[+\s*(skip(?:[\s_-]+[a-z]{1,20}){1,3}|(?:[a-z]{1,20}[\s_-]+){1,3}skip|skipci|ciskip|no[\s_-]*ci)\s*\]+/gi,
    '$1',
  ],
  [/\*{3,}\s*(NO_CI)\s*\*{3,}/gi, '$1'],
  [/(skip-checks)(?:\s*:)+\s*(true)/gi, '$1 $2'],
  // Statements of people, and the trailer of the gateway. Some checks find them in any line.
  [
    /((?:signed-off|co-authored|co-developed|authored|committed|reviewed|acked|approved|tested|reported|suggested|helped|merged|pushed)-by|fleet-task)(?:\s*:)+/gi,
    '$1',
  ],
  // Keywords that close an issue: Fixes #12, closes acme/web#12, resolves https://forge.example/acme/web/issues/12.
  [
    /(?<![a-z0-9])(clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?):?\s*((?:issues?\s+)?(?:[\w.-]{1,100}\/[\w./-]{1,100})?(?:#|\bGH-)\d+|https?:\/\/\S{1,300}?\/(?:issues|pull|merge_requests|work_items)\/\d+)/gi,
    '$1 (see $2)',
  ],
];

/**
 * The text without what makes a forge skip checks, close issues, or take somebody for an author or a reviewer of the commit. All
 * else stays as it is, also `@name`: it cannot be told from a decorator or the scope of a package.
 */
export function harmless(text: string): string {
  const next = REWORDED.reduce((known, [what, words]) => known.replace(what, words), text);
  // Without its inner brackets, `[skip [no ci]]` is one again.
  return next === text ? text : harmless(next);
}

/** Tools of the same name's beginning go by one word; those of the workspace by `workspace`. */
const WORDS: Readonly<Record<string, string>> = {
  list: 'workspace',
  read: 'workspace',
  write: 'workspace',
  edit: 'workspace',
  find: 'workspace',
  grep: 'workspace',
  delegate: 'sub-agents',
};

/** The domains of tools, in the order of their first one: `workspace`, `shell`, `memory`, `mcp__files`. */
export const domainsOf = (names: readonly string[]): string[] => [...new Set(names.map(domainOf))];

function domainOf(name: string): string {
  const [, server] = /^(mcp__.+?)__/.exec(name) ?? [];
  const head = name.split('_')[0] ?? name;
  return server ?? (Object.hasOwn(WORDS, head) ? WORDS[head] : undefined) ?? head;
}

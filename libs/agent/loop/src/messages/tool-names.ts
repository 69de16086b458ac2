import { cutTo } from '@hermes-fleet/protocol';
import { letterPairs, sharedPairs } from './letter-pairs.ts';

/** Names of such tools in other agents, which models have learnt, as `plainly` writes them; by our own name. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  read_file: ['read', 'cat', 'view', 'openfile', 'viewfile', 'getfilecontents'],
  write_file: ['write', 'createfile', 'createnewfile', 'writetofile', 'savefile'],
  edit_file: [
    'edit',
    'multiedit',
    'strreplace',
    'replace',
    'replaceinfile',
    'searchreplace',
    'editexistingfile',
  ],
  list_files: ['ls', 'list', 'listdir', 'listdirectory', 'listfolder'],
  find_files: ['glob', 'findfile', 'filesearch'],
  grep_files: ['grep', 'rg', 'ripgrep', 'grepsearch', 'searchfilecontent'],
  shell_exec: [
    ...['bash', 'sh', 'shell', 'terminal', 'exec', 'execute', 'containerexec', 'localshell', 'executebash'],
    ...[
      'runcommand',
      'execcommand',
      'executecommand',
      'runshellcommand',
      'shellcommand',
      'runbash',
      'runshell',
      'executeshell',
      'cmd',
    ],
    ...['runterminalcmd', 'runterminalcommand', 'runinterminal'],
  ],
  web_fetch: ['fetch', 'fetchurl', 'readurl'],
  web_search: ['searchweb', 'googlewebsearch', 'googlesearch', 'browsersearch'],
};

/** Namespaces that chat templates put before a name: of OpenAI, gpt-oss and Kimi, of Gemini, and of code that calls. */
const NAMESPACE = /^(?:(?:functions?|default_api|tools?|api|multi_tool_use)(?:[.:/]+|__)|functions?_)(?=.)/i;
/** White space, quotes and backticks around a name, and what parsers leave behind it: `<|channel|>json`, `()`, `:0`. */
const EDGES = /^[\s"'`]+|(?:[\s"'`]|<[|｜].*|\(\s*\)|:\d+)+$/gs;

const MAX_CHARS = 200;

/** The name without what a chat template or its parser adds to it (docs/agent.md#input). */
export function bareName(name: string): string {
  if (name.length > MAX_CHARS) return name;
  const bare = name.replace(EDGES, '').replace(NAMESPACE, '');
  return bare === name ? name : bareName(bare);
}

/**
 * The tool that `name` means: an offered one in any spelling, or by its name in other agents, or one of an MCP server
 * without a part of its prefix. Undefined unless just one fits.
 */
export function meantTool(name: string, offered: ReadonlySet<string>): string | undefined {
  if (offered.has(name)) return name;
  if (name.length > MAX_CHARS) return undefined;
  for (const plain of new Set([plainly(name), plainly(bareName(name))]))
    for (const formsOf of FORMS) {
      const found = [...offered].filter((tool) => formsOf(tool).includes(plain));
      if (found.length > 0) return found.length === 1 ? found[0] : undefined;
    }
  // After another namespace, only a tool's own name counts: aliases may mean anything in other agents.
  const last = plainly(bareName(name.split(/[.:/=>|(]+(?=\w)/).at(-1) ?? ''));
  const own = [...offered].filter((tool) => plainly(tool) === last);
  return own.length === 1 ? own[0] : undefined;
}

const plainly = (name: string): string => name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();

const MCP = /^mcp__(.+?)__(.+)$/g;

/** The plain forms of an offered tool's name, the surest first. */
const FORMS: readonly ((tool: string) => readonly string[])[] = [
  (tool) => [plainly(tool)],
  (tool) => (Object.hasOwn(OTHER_NAMES, tool) ? (OTHER_NAMES[tool] ?? []) : []),
  (tool) => [...tool.matchAll(MCP)].map(([, server = '', name = '']) => plainly(server + name)),
  (tool) => [...tool.matchAll(MCP)].map(([, , name = '']) => plainly(name)),
];

const CLOSEST = 3;
const SHOWN_CHARS = 64;

/** The answer to a call of a tool that is not offered: names the three that are most like it. */
export function noSuchTool(name: string, offered: ReadonlySet<string>): string {
  const asked = `there is no tool ${cutTo(bareName(name), SHOWN_CHARS)}`;
  if (offered.size === 0) return `${asked}, and no other one`;
  const pairs = letterPairs(plainly(bareName(name)).slice(0, MAX_CHARS));
  const likeness = (tool: string): number =>
    Math.max(
      ...FORMS.flatMap((formsOf) => formsOf(tool)).map((form) => sharedPairs(pairs, letterPairs(form))),
    );
  const closest = [...offered]
    .map((tool) => ({ tool, share: likeness(tool) }))
    .sort((a, b) => b.share - a.share)
    .slice(0, CLOSEST);
  return `${asked}; the closest are ${closest.map(({ tool }) => tool).join(', ')}`;
}

/** What a text of TypeScript, or a script, says about other files. */
export interface Module {
  readonly imports: readonly { readonly specifier: string; readonly names: readonly string[] | 'all' }[];
  /** Names that it exports from another file, by the name that it gives them. */
  readonly passedOn: ReadonlyMap<string, { readonly specifier: string; readonly name: string }>;
  /** The files of which it exports every name. */
  readonly all: readonly string[];
  readonly declared: ReadonlySet<string>;
  /** Texts that may be paths: up to its first variable part, a template names a folder. */
  readonly paths: readonly string[];
  /** What stands behind the root of the repository. */
  readonly fromRoot: readonly string[];
  /** Texts without a slash, which may be files of the root. */
  readonly names: readonly string[];
  /** Words that may be paths, or names with an ending, which a script does not quote. */
  readonly words: readonly string[];
}

const FROM = /^(import|export)\s+(type\s)?([^'";]*?)\s*\bfrom\s+'([^']+)'/gm;
const FOR_EFFECT = /^import\s+'([^']+)'/gm;
/** An import at run time, or of a program in a text; which names it uses is not told. */
const AT_RUN_TIME = /\bimport\(\s*'([^']+)'/g;
const DECLARED =
  /^export\s+(?:default\s+)?(?:declare\s+|abstract\s+|async\s+)*(?:function\*?|const|let|class|interface|type|enum)\s+(\w+)/gm;
const EXPORTED = /^export\s*\{([^}]*)\}\s*;/gm;
const QUOTED = /'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`/g;
/** A literal is taken for a path if it has a slash or the ending of a file, or stands behind the folder of its own file. */
const PATH = /^[\w@.+ -]*(\/|\.[a-z]{1,4}$)/;
const IN_OWN_FOLDER = /\bimport\.meta\.dirname,\s*'([^']+)'/g;
/** Tests name the root `ROOT`, and read a document of it by `doc`. */
const FROM_ROOT = /(?:\bROOT,\s*|\bdoc\()'([^']+)'/g;
const NAME = /'([\w.-]+)'/g;
const WORD = /[\w.@-]*\/[\w./@-]+|[\w-]+\.[a-z]{1,4}\b/g;

/** Parses what a file imports, exports and names. Types are left out: they are gone when a test runs. */
export function parseModule(text: string): Module {
  const imports: { specifier: string; names: readonly string[] | 'all' }[] = [];
  const passedOn = new Map<string, { specifier: string; name: string }>();
  const all: string[] = [];
  const declared = new Set([...text.matchAll(DECLARED)].map(([, name = '']) => name));
  for (const [, kind, type, clause = '', specifier = ''] of text.matchAll(FROM)) {
    if (type !== undefined) continue;
    const names = namesIn(clause);
    if (kind === 'import') {
      const isAll = clause.includes('*') || !clause.includes('{');
      imports.push({ specifier, names: isAll ? 'all' : names.map(({ name }) => name) });
    } else if (clause === '*') all.push(specifier);
    else for (const { name, as } of names) passedOn.set(as, { specifier, name });
  }
  for (const pattern of [FOR_EFFECT, AT_RUN_TIME])
    for (const [, specifier = ''] of text.matchAll(pattern)) imports.push({ specifier, names: 'all' });
  for (const [, clause = ''] of text.matchAll(EXPORTED))
    for (const { as } of namesIn(clause)) declared.add(as);
  const rest = text.replaceAll(FROM, '').replaceAll(FOR_EFFECT, '');
  const literals = [...rest.matchAll(QUOTED)].map(([, single, double, template]) =>
    template === undefined ? (single ?? double ?? '') : fixedFolder(template),
  );
  const paths = literals.filter((literal) => PATH.test(literal));
  for (const [, name = ''] of text.matchAll(IN_OWN_FOLDER)) paths.push(`./${name}`);
  const [fromRoot = [], names = []] = [FROM_ROOT, NAME].map((pattern) =>
    [...rest.matchAll(pattern)].map(([, name = '']) => name),
  );
  return { imports, passedOn, all, declared, paths, fromRoot, names, words: text.match(WORD) ?? [] };
}

/** The names of a clause such as `{ a, b as c, type D }`. */
function namesIn(clause: string): { name: string; as: string }[] {
  return clause
    .replaceAll(/[{}]|\/\/.*$/gm, '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '' && !part.startsWith('type '))
    .map((part) => {
      const [name = '', as = name] = part.split(/\s+as\s+/);
      return { name, as };
    });
}

function fixedFolder(template: string): string {
  const at = template.indexOf('${');
  return at === -1 ? template : template.slice(0, template.lastIndexOf('/', at) + 1);
}

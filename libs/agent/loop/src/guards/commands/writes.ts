import { type CommandWords, hasOption, operands } from './command-words.ts';

/** Writes of a command, as far as its command line shows them. */
export interface Writes {
  readonly files: readonly string[];
  readonly removed: readonly string[];
  /** Moved to another path. */
  readonly moved: readonly string[];
  /** True if it changes files that it does not name, as a patch, a formatter or an installation does. */
  readonly others: boolean;
}

type Rule = (args: readonly string[]) => Partial<Writes>;

const OTHERS: Partial<Writes> = { others: true };
const NOTHING: Partial<Writes> = {};

const all: Rule = (args) => ({ files: operands(args) });
/** The last operand, or the files placed in it if it ends in a slash. */
const last: Rule = (args) => {
  const names = operands(args);
  const target = names.pop();
  if (target === undefined) return NOTHING;
  if (!target.endsWith('/')) return { files: [target] };
  return { files: names.map((name) => `${target}${name.slice(name.lastIndexOf('/') + 1)}`) };
};
/** Edits the named files if one of the options is given. The first `scripts` operands are scripts, not files. */
const inPlace =
  (scripts: number, ...options: RegExp[]): Rule =>
  (args) => {
    if (!args.some((arg) => options.some((option) => option.test(arg)))) return NOTHING;
    const given = args.some((arg) => /^(?:-e|-f|--expression|--file)/.test(arg));
    const valued = args.filter((_, at) => !/^(?:-e|-f|--expression|--file)$/.test(args[at - 1] ?? ''));
    const files = operands(valued).slice(given ? 0 : scripts);
    return files.length > 0 ? { files } : OTHERS;
  };
const when =
  (test: (args: readonly string[]) => boolean): Rule =>
  (args) =>
    test(args) ? OTHERS : NOTHING;
const verb = (pattern: RegExp): Rule => when((args) => pattern.test(operands(args).join(' ')));
const named =
  (...options: string[]): Rule =>
  (args) => {
    const at = args.findIndex((arg) => options.includes(arg));
    const file = at === -1 ? undefined : args[at + 1];
    return file === undefined ? NOTHING : { files: [file] };
  };

function git(args: readonly string[]): Partial<Writes> {
  const [name = '', ...rest] = args.filter(
    (_, at) => !/^-[Cc]$/.test(args[at - 1] ?? '') && !/^-[Cc]$/.test(args[at] ?? ''),
  );
  if (name === 'rm') return { removed: operands(rest) };
  if (name === 'mv') return move(rest);
  if (
    /^(?:apply|am|restore|merge|rebase|cherry-pick|revert|pull|clean|read-tree|submodule|subtree)$/.test(name)
  ) {
    return hasOption(rest, '--check', '--abort', '--stat', '--dry-run', '-n') ? NOTHING : OTHERS;
  }
  if (name === 'checkout' || name === 'switch')
    return hasOption(rest, '-b', '-B', '-c', '-C') ? NOTHING : OTHERS;
  if (name === 'reset') return hasOption(rest, '--hard', '--merge', '--keep') ? OTHERS : NOTHING;
  return name === 'stash' && /^(?:pop|apply)$/.test(rest[0] ?? '') ? OTHERS : NOTHING;
}

function move(args: readonly string[]): Partial<Writes> {
  return { ...last(args), moved: operands(args).slice(0, -1) };
}

const packages = verb(
  /^(?:install|i|add|remove|rm|uninstall|un|update|upgrade|up|dedupe|link|init|create|import|set)\b/,
);

const each = (programs: string, rule: Rule): Record<string, Rule> =>
  Object.fromEntries(programs.split(' ').map((program) => [program, rule]));

const TABLE: Readonly<Record<string, Rule>> = {
  ...each('tee touch sponge dos2unix ed ex', all),
  ...each('cp ln install rsync', last),
  ...each('npm pnpm yarn bun', packages),
  ...each('pip pip3', verb(/^(?:install|uninstall)\b/)),
  ...each('sed gsed', inPlace(1, /^-[a-zA-Z]*i/, /^--in-place/)),
  ...each(
    'eslint stylelint',
    when((args) => hasOption(args, '--fix')),
  ),
  ...each('rm unlink', (args) => ({ removed: operands(args) })),
  truncate: (args) => ({ files: operands(args).slice(hasOption(args, '-s') ? 1 : 0) }),
  mv: move,
  dd: (args) => ({ files: args.flatMap((arg) => (arg.startsWith('of=') ? [arg.slice(3)] : [])) }),

  perl: inPlace(1, /^-[a-z0-9]*i/),
  ruby: inPlace(1, /^-[a-z]*i/),
  yq: inPlace(1, /^-[a-z]*i/, /^--inplace/),
  gawk: when((args) => args.includes('inplace')),
  'clang-format': inPlace(0, /^-i$/),
  gofmt: inPlace(0, /^-w$/),

  patch: (args) => (hasOption(args, '--dry-run') ? NOTHING : OTHERS),
  git,
  tar: when(
    ([mode = '', ...rest]) =>
      /^-?[a-z]*x/.test(mode) || rest.some((arg) => /^(?:-[a-z]*x|--extract)/.test(arg)),
  ),
  unzip: when((args) => !hasOption(args, '-l', '-t', '-p')),
  gunzip: () => OTHERS,
  curl: (args) =>
    args.some((arg) => /^-[a-zA-Z]*O|^--remote-name/.test(arg)) ? OTHERS : named('-o', '--output')(args),
  wget: (args) =>
    hasOption(args, '-O', '--output-document') ? named('-O', '--output-document')(args) : OTHERS,

  poetry: verb(/^(?:add|remove|update|lock|init|new)\b/),
  uv: verb(/^(?:add|remove|lock|init|sync|pip install)\b/),
  cargo: (args) =>
    args[0] === 'fmt' && args.includes('--check')
      ? NOTHING
      : verb(/^(?:add|remove|rm|update|fix|fmt|new|init)\b/)(args),
  go: verb(/^(?:get|fmt|generate|fix|mod (?:tidy|init|edit|vendor)|work)\b/),
  bundle: verb(/^(?:add|install|update|remove|init)\b/),
  composer: verb(/^(?:require|install|update|remove|init)\b/),
  dotnet: verb(/^(?:add|remove|new|format)\b/),
  rails: verb(/^(?:new|generate|g|destroy)\b/),
  prettier: when((args) => hasOption(args, '--write', '-w')),

  biome: when((args) => hasOption(args, '--write', '--fix', '--apply', '--unsafe')),
  ruff: when(
    (args) => hasOption(args, '--fix') || (args[0] === 'format' && !hasOption(args, '--check', '--diff')),
  ),
  black: when((args) => !hasOption(args, '--check', '--diff')),
  isort: when((args) => !hasOption(args, '--check', '--check-only', '-c', '--diff')),
  rustfmt: when((args) => !hasOption(args, '--check')),
  autopep8: inPlace(0, /^-[a-z]*i/, /^--in-place/),
};

export function writesOf({ program, args, unnamed }: CommandWords): Writes {
  const rule = Object.hasOwn(TABLE, program) ? TABLE[program] : undefined;
  const { files = [], removed = [], moved = [], others = false } = rule?.(args) ?? NOTHING;
  if (!unnamed) return { files, removed, moved, others };
  return { files: [], removed: [], moved: [], others: others || files.length > 0 };
}

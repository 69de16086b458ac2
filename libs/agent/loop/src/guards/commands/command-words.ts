/** A command without its wrappers: `CI=1 timeout 60 npx jest --ci` becomes `jest --ci`. */
export interface CommandWords {
  /** Without its directory. */
  readonly program: string;
  /** As written on the command line. */
  readonly path: string;
  readonly args: readonly string[];
  /** True if it ran through `xargs` or `find -exec`: the command line does not name its files. */
  readonly unnamed: boolean;
}

const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
/** Wrappers, each with its options that take a value. */
const WRAPPERS: Readonly<Record<string, readonly string[]>> = {
  builtin: [],
  c8: ['-r', '--reporter', '-o', '--reports-dir', '-x', '--exclude', '-n', '--include'],
  chronic: [],
  command: [],
  'cross-env': [],
  env: ['-u', '-C', '-S', '--unset', '--chdir'],
  exec: ['-a'],
  ionice: ['-c', '-n'],
  nice: ['-n'],
  nohup: [],
  nyc: ['-r', '--reporter', '-x', '--exclude', '-n', '--include'],
  setsid: [],
  stdbuf: ['-i', '-o', '-e'],
  sudo: ['-u', '-g'],
  time: ['-f', '-o'],
  timeout: ['-k', '-s', '--signal', '--kill-after'],
  'xvfb-run': ['-s', '-n'],
  npx: ['-p', '--package'],
  bunx: [],
  uvx: ['--with', '--from'],
  xargs: ['-n', '-I', '-P', '-L', '-d', '-a', '-s', '-E'],
};
/** Programs that run another program through a subcommand. */
const RUNNERS: Readonly<Record<string, ReadonlySet<string>>> = {
  npm: new Set(['exec', 'x']),
  pnpm: new Set(['exec', 'dlx']),
  yarn: new Set(['exec', 'dlx']),
  bundle: new Set(['exec']),
  poetry: new Set(['run']),
  uv: new Set(['run']),
  pipenv: new Set(['run']),
  pdm: new Set(['run']),
  hatch: new Set(['run']),
  rye: new Set(['run']),
};
const MAX_WRAPPERS = 10;

/** Undefined for a command that is only assignments or redirections. */
export function commandWords(words: readonly string[]): CommandWords | undefined {
  let rest = words;
  let unnamed = false;
  for (let round = 0; round < MAX_WRAPPERS; round += 1) {
    rest = rest.slice(rest.findIndex((word) => !ASSIGNMENT.test(word)));
    const [path = '', ...args] = rest;
    if (path === '' || ASSIGNMENT.test(path)) return undefined;
    const program = path.slice(path.lastIndexOf('/') + 1);
    const inner = unwrapped(program, args);
    if (inner === undefined) return { program, path, args, unnamed };
    unnamed ||= program === 'xargs' || program === 'find';
    rest = inner;
  }
  return undefined;
}

function unwrapped(program: string, args: readonly string[]): readonly string[] | undefined {
  if (program === 'find') {
    const exec = args.findIndex((arg) => /^-(?:exec|execdir|ok)$/.test(arg));
    return exec === -1 ? undefined : args.slice(exec + 1);
  }
  if (Object.hasOwn(RUNNERS, program) && RUNNERS[program]?.has(args[0] ?? ''))
    return past(args.slice(1), ['-p', '--package', '--with', '--group']);
  if (program === 'command' && /^-[vV]$/.test(args[0] ?? '')) return undefined;
  const values = Object.hasOwn(WRAPPERS, program) ? WRAPPERS[program] : undefined;
  if (values === undefined) return undefined;
  const inner = past(args, values);
  return program === 'timeout' ? inner.slice(1) : inner;
}

/** Skips leading options and their values. */
function past(args: readonly string[], withValue: readonly string[]): readonly string[] {
  let at = 0;
  while (args[at]?.startsWith('-')) {
    if (args[at] === '--') return args.slice(at + 1);
    at += withValue.includes(args[at] ?? '') ? 2 : 1;
  }
  return args.slice(at);
}

/** The arguments that are not options. */
export const operands = (args: readonly string[]): string[] => args.filter((arg) => !arg.startsWith('-'));

/** True if one of the options is given, also in the form `--option=value`. */
export const hasOption = (args: readonly string[], ...options: readonly string[]): boolean =>
  args.some((arg) => options.includes(arg) || options.some((option) => arg.startsWith(`${option}=`)));

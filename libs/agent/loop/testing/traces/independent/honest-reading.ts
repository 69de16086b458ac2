import type { Trace } from '../trace.ts';
import { find, grep, honest, list, nth, sh, times } from './build.ts';

const RUST = [
  'lib',
  'arena',
  'ast',
  'borrow',
  'cfg',
  'codegen',
  'const_eval',
  'cursor',
  'diag',
  'emit',
  'error',
  'expand',
  'fold',
  'hir',
  'hygiene',
  'infer',
  'intern',
  'layout',
  'lexer',
  'link',
  'lower',
  'macros',
  'mir',
  'mono',
  'name_res',
  'opt',
  'parser',
  'passes',
  'pretty',
  'query',
  'regalloc',
  'scope',
  'session',
  'span',
  'ssa',
  'symbols',
  'target',
  'traits',
  'ty',
  'visit',
];
const SYMBOLS = [
  'createSession',
  'SessionStore',
  'expireSession',
  'sess_',
  'cookie',
  'Set-Cookie',
  'sameSite',
  'httpOnly',
  'csrf',
  'maxAge',
  'rolling',
  'touch\\(',
  'destroy\\(',
  'regenerate',
  'redis',
  'RedisStore',
  'TTL',
  'ttl',
  'setex',
  'memoryStore',
];

export const reading: Trace[] = [
  honest(
    'explores a compiler: lists the folders and reads forty source files, two at a time, changing nothing',
    (w, step) => {
      step(list('.', 'Cargo.toml', 'src/', 'tests/'), list('src', ...RUST.map((r) => `${r}.rs`)));
      for (let i = 0; i < RUST.length; i += 2)
        step(w.read(`src/${RUST[i]}.rs`), w.read(`src/${RUST[i + 1]}.rs`));
      step(
        w.write(
          'NOTES.md',
          '# How the compiler hangs together\n\nlexer → parser → expand → name_res → hir → infer → mir → codegen\n',
        ),
      );
    },
    Object.fromEntries(
      RUST.map((r, i) => [
        `src/${r}.rs`,
        `//! ${r}\n\nuse crate::${nth(RUST, i * 7 + 3)}::*;\n\npub fn run_${r}(cx: &mut Ctxt) -> Result<()> {\n    cx.enter("${r}")?;\n    ${nth(RUST, i * 7 + 3)}::visit(cx, ${i})\n}\n`,
      ]),
    ),
  ),

  honest(
    'reads one file of 5,600 lines in fourteen pages, then goes back to two of them',
    (w, step) => {
      times(14, (i) => step(w.read('sqlite/vdbe.c', 1 + i * 400, 400)));
      step(grep('OP_SeekGE', 'sqlite/vdbe.c', '2011: case OP_SeekGE:'));
      step(w.read('sqlite/vdbe.c', 2001, 400), w.read('sqlite/vdbe.c', 1601, 400));
      step(
        w.edit('sqlite/vdbe.c', '/* line 2050 */ pc = 2050;', '/* line 2050 */ if( eof ) goto jump_to_p2;'),
      );
      step(sh('make test', '0 errors out of 281377 tests'));
    },
    { 'sqlite/vdbe.c': times(5600, (i) => `/* line ${i} */ pc = ${i};`).join('\n') },
  ),

  honest(
    'greps the same folder for twenty different words, many with no match at all',
    (w, step) => {
      SYMBOLS.forEach((s, i) =>
        step(
          grep(
            s,
            'server/src',
            ...(i % 3 === 0 ? [] : times(i % 4, (k) => `server/src/http/f${k}.ts:${i * 3 + k}: ${s}`)),
          ),
        ),
      );
      step(w.read('server/src/http/session.ts'));
      step(w.edit('server/src/http/session.ts', 'sameSite: false', "sameSite: 'lax'"));
      step(sh('npm test -- session', 'Tests: 12 passed, 12 total'));
    },
    { 'server/src/http/session.ts': 'export const cookie = {\n  httpOnly: true,\n  sameSite: false,\n};\n' },
  ),

  honest(
    'searches for a file whose name it does not know: ten patterns without a result, then one',
    (w, step) => {
      for (const p of [
        '**/*.proto',
        '**/proto/**',
        '**/*.pb.go',
        '**/*_pb.ts',
        '**/api/*.yaml',
        '**/openapi*',
        '**/swagger*',
        '**/*.graphql',
        '**/schema.*',
        '**/*.thrift',
      ])
        step(find(p));
      step(find('**/*.avdl', 'contracts/orders.avdl'));
      step(w.read('contracts/orders.avdl'));
    },
    { 'contracts/orders.avdl': 'protocol Orders {\n  record Order { string id; long placedAt; }\n}\n' },
  ),

  honest(
    're-reads a stylesheet after each of twelve edits',
    (w, step) => {
      step(w.read('styles/table.css'));
      times(12, (i) => {
        step(
          w.edit(
            'styles/table.css',
            `.c${i} { width: 10% }`,
            `.c${i} { inline-size: ${8 + ((i * 5) % 9)}%; }`,
          ),
        );
        step(w.read('styles/table.css'));
      });
      step(sh('npx stylelint styles', ''));
    },
    { 'styles/table.css': times(12, (i) => `.c${i} { width: 10% }`).join('\n') },
  ),

  honest(
    'runs git status and ls again and again, between edits that git already shows as modified',
    (w, step) => {
      times(14, (i) => {
        step(
          w.edit(
            'README.md',
            `<!-- section ${i} -->`,
            `## Section ${i}\n\nHow to use option ${i}: pass \`--opt-${i}\`.`,
          ),
        );
        step(sh('git status --short', ' M README.md'));
        if (i % 3 === 0)
          step(
            sh('ls', 'LICENSE\nMakefile\nREADME.md\nsrc'),
            sh('git log --oneline -1', 'a91c7e0 first draft'),
          );
      });
      step(sh('git commit -qam "README: all options"'), sh('git status --short', ''));
    },
    { 'README.md': times(14, (i) => `<!-- section ${i} -->`).join('\n') },
  ),
];

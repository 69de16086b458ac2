import type { Trace } from '../trace.ts';
import {
  ask,
  browser,
  circle,
  delegate,
  failed,
  fetchUrl,
  find,
  grep,
  list,
  nth,
  output,
  progress,
  send,
  sh,
  start,
  times,
  took,
} from './build.ts';

const AUTH =
  'package auth\n\nfunc Verify(token string) (*Claims, error) {\n\treturn parse(token, keys.Current())\n}\n';
const FILES = {
  'auth/verify.go': AUTH,
  'auth/keys.go': 'package auth\n\nvar keys = loadKeys("/etc/keys")\n',
};
const VERIFY = '--- FAIL: TestVerify (0.00s)\n    verify_test.go:19: token is expired\nFAIL';

export const looks: Trace[] = [
  circle(
    'runs the same failing test again and again with no change at all',
    (w, step) => {
      step(w.read('auth/verify.go'));
      times(42, (i) =>
        step(sh('go test ./auth', `${VERIFY}\nFAIL\tapp/auth\t0.${((i * 37) % 90) + 10}s`, 1)),
      );
    },
    FILES,
  ),

  circle('runs the same failing test with other verbosity in turn, changing nothing', (_w, step) => {
    const commands = [
      'go test ./auth',
      'go test -v ./auth',
      'go test -count=1 ./auth',
      'go test ./auth -run TestVerify',
    ];
    times(56, (i) => step(sh(nth(commands, i), `${VERIFY}\nFAIL\tapp/auth\t0.${((i * 37) % 90) + 10}s`, 1)));
  }),

  circle(
    'reads a file, greps for a word, reads the same file, greps for the same word',
    (w, step) => {
      times(27, () => {
        step(w.read('auth/verify.go'));
        step(grep('Current', 'auth', 'auth/verify.go:4: return parse(token, keys.Current())'));
      });
    },
    FILES,
  ),

  circle(
    'reads two files and lists the folder, all in one step, the same step every time',
    (w, step) => {
      times(40, () =>
        step(
          w.read('auth/verify.go'),
          w.read('auth/keys.go'),
          list('auth', 'keys.go', 'verify.go', 'verify_test.go'),
        ),
      );
    },
    FILES,
  ),

  circle(
    'types ls and cat of the same file in turn',
    (w, step) => {
      times(26, () => {
        step(sh('ls -la auth', 'total 12\n-rw-r--r-- 1 u u  71 keys.go\n-rw-r--r-- 1 u u 101 verify.go'));
        step(w.cat('auth/verify.go'));
      });
    },
    FILES,
  ),

  circle('types git status and git diff without end', (_w, step) => {
    times(26, () => {
      step(sh('git status', 'On branch main\nnothing to commit, working tree clean'));
      step(sh('git diff', ''));
    });
  }),

  circle('types the same wrong command', (_w, step) => {
    times(40, () => step(sh('pyhton manage.py migrate', '', 127, 'bash: line 1: pyhton: command not found')));
  }),

  circle(
    'installs one version, sees the import fail, installs the other, sees it fail, and the first again',
    (_w, step) => {
      times(32, (i) => {
        step(sh(`pip install -q pydantic==${i % 2 === 0 ? '1.10.22' : '2.11.7'}`));
        step(
          sh(
            'python -c "import app"',
            '',
            1,
            "ImportError: cannot import name 'BaseSettings' from 'pydantic'",
          ),
        );
      });
    },
  ),

  circle('calls a tool that does not exist, with the same input', (_w, step) => {
    times(40, () =>
      step(
        failed(
          'apply_patch',
          {
            patch:
              '*** Begin Patch\n*** Update File: auth/verify.go\n-keys.Current()\n+keys.At(now)\n*** End Patch',
          },
          'unknown tool apply_patch',
        ),
      ),
    );
  }),

  circle('calls a tool that does not exist, for five paths in turn', (_w, step) => {
    times(45, (i) =>
      step(
        failed(
          'open_file',
          { path: nth(['auth/verify.go', 'auth/keys.go', 'auth/claims.go', 'main.go', 'go.mod'], i) },
          'unknown tool open_file',
        ),
      ),
    );
  }),

  circle('calls a tool with the same invalid input, told each time what is missing', (_w, step) => {
    times(40, () =>
      step(
        failed(
          'edit_file',
          { path: 'auth/verify.go', diff: '- keys.Current()\n+ keys.At(now)' },
          'invalid input: old_text is required',
        ),
      ),
    );
  }),

  circle('fetches the same page, which always says the same', (_w, step) => {
    times(40, () =>
      step(
        fetchUrl(
          'https://pkg.go.dev/github.com/golang-jwt/jwt/v5',
          200,
          'package jwt is a Go implementation of JSON Web Tokens',
        ),
      ),
    );
  }),

  circle('fetches three pages that do not exist, in turn, and never anything else', (_w, step) => {
    times(48, (i) =>
      step(
        fetchUrl(
          `https://docs.acme.dev/${nth(['auth', 'authentication', 'guides/auth'], i)}`,
          404,
          'Not found',
        ),
      ),
    );
  }),

  circle('delegates the identical brief to the same peer, which always gives the same answer', (_w, step) => {
    times(38, () =>
      step(
        delegate(
          'brook',
          'Find out why TestVerify says that the token is expired, and fix it.',
          'I cannot see the folder auth; give me access or send me the files.',
        ),
      ),
    );
  }),

  circle('sends the same question to a peer and reports the same progress, over and over', (_w, step) => {
    times(24, () => {
      step(send('ada', 'Is the key rotation done?', 'Yes, since yesterday. Key k7 is current.'));
      step(progress('waiting for the key rotation'));
    });
  }),

  circle('asks the caller the same question and is told the same each time', (_w, step) => {
    times(36, () => step(ask('Shall I use HS256 or RS256?', 'RS256, as I said.')));
  }),

  circle('reports progress again and again without doing anything', (_w, step) => {
    times(40, (i) =>
      step(progress(nth(['Working on the token check.', 'Still working on the token check.'], i))),
    );
  }),

  circle('polls a process that has ended long ago with an error', (_w, step) => {
    step(start('go run ./cmd/api', 'g1'));
    step(output('g1', 'listening on :8080\npanic: open /etc/keys: permission denied\n', false, 2));
    times(45, () => step(output('g1', '', false, 2)));
  }),

  circle('starts the same server, which dies for the same reason, looks, and starts it again', (_w, step) => {
    times(24, (i) => {
      step(start('go run ./cmd/api', `g${i}`));
      step(output(`g${i}`, 'panic: open /etc/keys: permission denied\n', false, 2));
    });
  }),

  circle('navigates to a login page, clicks, is refused with the same words, navigates again', (_w, step) => {
    times(20, () => {
      step(browser('navigate', { url: 'http://localhost:8080/login' }, 'Sign in'));
      step(browser('click', { element: 'Sign in', ref: 'e12' }, 'clicked'));
      step(browser('snapshot', {}, 'alert: user or password is wrong'));
    });
  }),

  circle('searches for three file names that are not there, round and round', (_w, step) => {
    times(48, (i) => step(find(nth(['**/jwt.go', '**/token*.go', '**/claims.go'], i))));
  }),

  circle(
    'alternates five different looks for sixty steps; none of them says anything new',
    (w, step) => {
      times(12, (i) => {
        step(w.read('auth/keys.go'));
        step(grep('loadKeys', '.', 'auth/keys.go:3: var keys = loadKeys("/etc/keys")'));
        step(sh('ls -l /etc/keys', '', 2, "ls: cannot access '/etc/keys': Permission denied"));
        step(sh('go vet ./auth', ''));
        step(sh('go test ./auth', `${VERIFY}\nFAIL\tapp/auth\t${took(i, 0)}`, 1));
      });
    },
    FILES,
  ),

  circle('types the same wrong command with an ever longer sleep before it', (_w, step) => {
    times(40, (i) =>
      step(
        sh(`sleep ${i + 1}; pyhton manage.py migrate`, '', 127, 'bash: line 1: pyhton: command not found'),
      ),
    );
  }),

  circle(
    'sends the identical brief to three peers in turn, who all answer that it is not their job',
    (_w, step) => {
      times(48, (i) =>
        step(
          send(
            nth(['ada', 'brook', 'cleo'], i),
            'Please rotate the signing key in production.',
            'Not mine to do: ask the owner of the cluster.',
          ),
        ),
      );
    },
  ),
];

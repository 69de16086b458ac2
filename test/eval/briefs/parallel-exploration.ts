import { after, call, calls, type Files, grep, read, type Script, says } from '../script/script.ts';

const filler = (service: string): Files =>
  Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => [
      `services/${service}/src/part-${at}.mjs`,
      `/** Part ${at} of ${service}. */\nexport const part${at} = (value) => value.slice(${at});\n`,
    ]),
  );

export const files: Files = {
  ...Object.assign({}, ...['login', 'vault', 'mail', 'gate'].map(filler)),
  'services/login/src/session.mjs':
    "import { HOUR } from './time.mjs';\n\n/** Seconds until a session ends. */\nexport const SESSION_S = HOUR;\n",
  'services/login/src/time.mjs': 'export const MINUTE = 60;\nexport const HOUR = 60 * MINUTE;\n',
  'services/vault/src/digest.mjs':
    "import { createHash } from 'node:crypto';\n\n// Not sha-1 as in the first release.\nexport const digest = (record) => createHash('sha512').update(record).digest('hex');\n",
  'services/mail/src/send.mjs':
    'const PER_SERVER = 4;\nconst SERVERS = 4;\n\n/** Each server several times, and the one of last resort once more. */\nexport const attempts = PER_SERVER * SERVERS + 1;\n',
  'services/gate/src/auth.mjs':
    "/** Requests carry a bearer token. */\nexport const tokenOf = (request) => request.headers.authorization?.replace(/^Bearer /, '');\n",
  'services/gate/deploy.yaml': 'service: gate\nregion: eu-central-3\nreplicas: 2\n',
};

const HASH = 'Which hash does services/vault use for its records? Name the file.';
const MAIL = 'How often does services/mail try to send a message in the worst case? Name the file.';

export const script: Script = {
  turns: [
    [
      calls(
        call('delegate', { agent: 'researcher', brief: HASH }),
        call('delegate', { agent: 'researcher', brief: MAIL }),
        grep('SESSION|session', 'services/login'),
        grep('auth|region', 'services/gate'),
      ),
      after(
        [/sha512/, /17 times/, /SESSION_S/],
        read('services/login/src/session.mjs'),
        read('services/login/src/time.mjs'),
        read('services/gate/deploy.yaml'),
        read('services/gate/src/auth.mjs'),
      ),
      says(
        '1. 3600 s (services/login/src/session.mjs). 2. SHA-512 (services/vault/src/digest.mjs). 3. 17 times ' +
          '(services/mail/src/send.mjs). 4. With a bearer token (services/gate/src/auth.mjs), in eu-central-3 ' +
          '(services/gate/deploy.yaml).',
        /HOUR = 60/,
      ),
    ],
  ],
  delegated: {
    [HASH]: [
      calls(grep('createHash', 'services/vault')),
      says('services/vault/src/digest.mjs uses sha512.', /createHash\('sha512'\)/),
    ],
    [MAIL]: [
      calls(grep('attempts', 'services/mail'), read('services/mail/src/send.mjs')),
      says('At most 17 times: services/mail/src/send.mjs.', /PER_SERVER \* SERVERS/),
    ],
  },
};

import { z } from 'zod';

/** Author and committer of results. */
export interface CommitAuthor {
  readonly name: string;
  readonly email: string;
}

/** These would end the line, or be read as the end of a name or an address. */
const isOneLine = (text: string): boolean => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
const ONE_LINE = 'must be one line without control characters';

/** Git leaves these out at the ends of a name, so a sign-off with them would name somebody else than the author. */
const LEFT_OUT = /^[\s.,:;"'\\]+|[\s.,:;"'\\]+$/g;

const Author = z
  .string()
  .max(300)
  .refine(isOneLine, ONE_LINE)
  .transform((text, ctx): CommitAuthor => {
    const [, written = '', email = ''] = /^([^<>]+)<([^\s<>@]+@[^\s<>@]+)>\s*$/.exec(text) ?? [];
    const name = written.replace(LEFT_OUT, '');
    if (name !== '') return { name, email };
    ctx.addIssue({ code: 'custom', message: 'must be a name and an address: Acme Bot <bot@acme.example>' });
    return z.NEVER;
  });

/** The gateway writes these itself. */
const OWN_TRAILERS = ['fleet-task', 'signed-off-by'];

const Trailers = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/, 'must be letters, digits and hyphens')
      .refine(
        (name) => !OWN_TRAILERS.includes(name.toLowerCase()),
        'is written by the gateway; choose another name, or set sign_off',
      ),
    z.string().trim().min(1).max(500).refine(isOneLine, ONE_LINE),
  )
  .refine((trailers) => Object.keys(trailers).length <= 20, 'must have at most 20 trailers')
  .default({})
  .describe('lines at the end of its message, for example `Team: web`');

/** The commit of a task's result: docs/configuration.md#commits. */
export const CommitConfig = z
  .strictObject({
    author: Author.optional().describe(
      "author and committer of [results](#commits), `Name <address>`; default: the profile's name at an address that does not exist",
    ),
    sign_off: z.boolean().default(false).describe('add `Signed-off-by` with `author`, which it requires'),
    signing_key_file: z
      .string()
      .min(1)
      .max(1000)
      .refine((file) => !file.includes('\0'), 'must not contain a null byte')
      .optional()
      .describe('a private ssh key without a passphrase, with which each commit is signed'),
    trailers: Trailers,
  })
  .refine(({ author, sign_off }) => author !== undefined || !sign_off, {
    path: ['sign_off'],
    message: 'requires author: name who signs off',
  });

export type CommitConfig = z.output<typeof CommitConfig>;

import { z } from 'zod';
import { get } from './route.ts';

/** A repository that the profile has in its configuration. */
export const ConfiguredRepository = z.object({
  name: z.string(),
  url: z.string().describe('Without a user name'),
  base: z.string().describe('Base branch of its contexts'),
});

/** A commit of the caller's checkouts that the profile has, with its history. */
export const SentBundle = z.object({
  bundle: z.string().describe('SHA-256 of the bundle'),
  commit: z.string(),
  /** Without it, the history is complete. */
  repository: z.string().optional().describe('The configured repository that has the rest of its history'),
  from_repository: z
    .array(z.string())
    .optional()
    .describe('The commits that the repository must have; absent: not known'),
});

export const RepositoriesAnswer = z.object({
  repositories: z.array(ConfiguredRepository),
  context: z
    .object({ name: z.string().nullable().describe('The configured repository; null: a checkout alone') })
    .optional()
    .describe('What the context of the query works on; absent: it has not begun, or works on no repository'),
  /** Absent where no checkouts are taken. */
  bundles: z
    .object({
      max_bytes: z.int().positive().describe('The largest bundle that is taken'),
      sent: z.array(SentBundle).describe("The caller's, newest first, at most 1,000"),
    })
    .optional(),
});

export type RepositoriesAnswer = z.output<typeof RepositoriesAnswer>;

export const TakenBundle = z.object({ bundle: z.string(), commit: z.string(), bytes: z.int() });

/** The repositories that a task of the caller can name (docs/your-repository.md). They need the scope `dispatch`. */
export const REPOSITORIES = {
  /** Query: `context`, if a further task of one is meant. */
  list: get('/fleet/repositories', RepositoriesAnswer),
};

/** Where a profile takes and gives git bundles of checkouts. Their bodies are no JSON: they have `BUNDLE_TYPE`. */
export const BUNDLE_ROUTES = {
  /** POST. Query: `sha256` and `commit` of the bundle; `repository`, the configured one that has its prerequisites, if it does. */
  upload: '/fleet/repositories/bundles',
  /** GET, with the token of the task, for the worker that does it. Query: `commit`, the tip that it lacks; default: the task's. */
  ofTask: '/fleet/tasks/:id/repository',
} as const;

export const BUNDLE_TYPE = 'application/x-git-bundle';

export interface BundleUpload {
  readonly sha256: string;
  readonly commit: string;
  readonly repository?: string | undefined;
}

/** The path and query for an upload. */
export function uploadUrl({ sha256, commit, repository }: BundleUpload): string {
  const query = new URLSearchParams({ sha256, commit, ...(repository === undefined ? {} : { repository }) });
  return `${BUNDLE_ROUTES.upload}?${query}`;
}

/** The path and query for the bundle of a task. */
export const bundleOfTaskUrl = (taskId: string, commit: string): string =>
  `/fleet/tasks/${encodeURIComponent(taskId)}/repository?${new URLSearchParams({ commit })}`;

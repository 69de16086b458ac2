import type { AdmittedTask } from './execution.ts';
import type { ResultContent } from './task-results.ts';

/** A git bundle of a checkout, as a caller describes it. */
export interface SentBundle {
  /** Of the file. */
  readonly bundle: string;
  /** The commit that it brings. */
  readonly commit: string;
  /** The configured repository that has its prerequisites; undefined: they are in bundles that the caller sent before, or it has none. */
  readonly repository?: string | undefined;
}

/** A bundle that is there. */
export interface KeptBundle extends SentBundle {
  /** How many bundles a worker gets for it: itself, and all that it builds on. */
  readonly chain: number;
  /** The commits that the repository must have for it and all that it builds on; undefined if it is not known. */
  readonly fromRepository?: readonly string[] | undefined;
}

/** The checkouts that callers sent to a profile (docs/your-repository.md). They belong to their callers, and no command can read them. */
export interface RepositoryBundles {
  readonly maxBytes: number;
  /** What a caller has sent and is still there, newest first, at most 1,000. */
  sent(caller: string): Promise<KeptBundle[]>;
  /** A new path for a file that is being received, which is removed when it is disposed of. */
  receiving(): Promise<AsyncDisposable & { readonly file: string }>;
  /**
   * Checks a received file and keeps it: its SHA-256, that it is a bundle of this commit alone, each object by its hash, and that its
   * prerequisites are in bundles of the caller, unless a configured repository has them. The same bundle again changes nothing. The
   * worker checks the rest. Throws BUNDLE_REFUSED, BUNDLE_LACKS_COMMITS for a prerequisite that is not here, or not any more, and
   * CAPACITY.
   */
  take(caller: string, bundle: SentBundle, file: string, signal: AbortSignal): Promise<void>;
  /**
   * Keeps a bundle, and those that it builds on, as long as the context. Throws BUNDLE_REFUSED for one that the caller has not sent, or
   * that is gone.
   */
  use(caller: string, bundle: string, contextId: string): Promise<void>;
  /** Opens the bundle of a context that brings a commit. Throws NO_RESULT when there is none. */
  open(contextId: string, commit: string): Promise<ResultContent>;
}

/** Opens bundles for a task of the profile's own agent: those that were sent here, or at the orchestrator that sent the task. */
export interface BundleSource {
  /** The bundle that brings `commit`. Throws NO_RESULT, PEER_UNREACHABLE, PEER_REFUSED, CAPACITY, and the reason of the signal. */
  open(task: AdmittedTask, commit: string, signal: AbortSignal): Promise<ResultContent>;
}

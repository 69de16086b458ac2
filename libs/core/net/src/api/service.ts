/** A service of the fleet. */
export interface Service {
  readonly name: string;
  /** The base URL. */
  readonly url: string;
  /** The bearer token to present; none for pages that need none. */
  readonly token?: string | undefined;
}

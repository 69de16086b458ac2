/** Removed elements at the front are dropped from memory when there are this many, and more than those that are left. */
const COMPACT_FROM = 32;

/**
 * Elements in ascending order of a unique key. It is fast for a queue: removing the first element and adding a last one
 * take constant time.
 */
export class SortedList<T> {
  readonly #keyOf: (element: T) => number;
  #elements: T[] = [];
  /** The elements before this index are removed. */
  #start = 0;

  constructor(keyOf: (element: T) => number) {
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#elements.length - this.#start;
  }

  get first(): T | undefined {
    return this.#elements[this.#start];
  }

  has(element: T): boolean {
    return this.#elements[this.#indexOf(element)] === element;
  }

  add(element: T): void {
    this.#elements.splice(this.#indexOf(element), 0, element);
  }

  /** Removes the element if it is in the list. */
  remove(element: T): void {
    const at = this.#indexOf(element);
    if (this.#elements[at] !== element) return;
    if (at > this.#start) {
      this.#elements.splice(at, 1);
      return;
    }
    this.#start += 1;
    if (this.#start < COMPACT_FROM || this.#start < this.size) return;
    this.#elements = this.#elements.slice(this.#start);
    this.#start = 0;
  }

  /** The index of the first element whose key is not below that of this element. */
  #indexOf(element: T): number {
    const key = this.#keyOf(element);
    let low = this.#start;
    let high = this.#elements.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#elements[middle];
      if (other !== undefined && this.#keyOf(other) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

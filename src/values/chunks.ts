/** Some items at a time. */

/** As many as weigh `size` together; each weighs one, unless `weigh` says more. */
export async function* inChunks<T>(
  items: AsyncIterable<T> | Iterable<T>,
  size: number,
  weigh: (item: T) => number = () => 1,
): AsyncGenerator<readonly T[]> {
  let chunk: T[] = []
  let weight = 0
  for await (const item of items) {
    chunk.push(item)
    weight += weigh(item)
    if (weight < size) continue
    yield chunk
    chunk = []
    weight = 0
  }
  if (chunk.length > 0) yield chunk
}

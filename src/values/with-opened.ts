type Closable = { readonly close: () => unknown }

export type Use = <Resource extends Closable>(resource: Resource) => Resource

/**
 * Closes what `work` opens, in the reverse order, when it has ended, also if some of it fails.
 * `await using` does the same, but not in the oldest Node.js that runs the sources.
 */
export async function withOpened<T>(work: (use: Use) => Promise<T>): Promise<T> {
  const opened: Closable[] = []
  const use: Use = (resource) => {
    opened.push(resource)
    return resource
  }
  try {
    return await work(use)
  } finally {
    await closeLast(opened)
  }
}

async function closeLast(opened: Closable[]): Promise<void> {
  const last = opened.pop()
  if (last === undefined) return
  try {
    await last.close()
  } finally {
    await closeLast(opened)
  }
}

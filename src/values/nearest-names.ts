/** The names that a mistyped one may stand for. */

const maxNames = 3

/** The nearest first; those that contain the typed name, or that it contains, count as near. */
export function nearestNames(typed: string, names: readonly string[]): readonly string[] {
  const wanted = typed.toLowerCase()
  const isNear = (name: string, distance: number) =>
    distance <= Math.max(1, Math.floor(wanted.length / 3)) ||
    (wanted.length >= 3 && containsEither(name, wanted))
  return names
    .map((name) => ({ name, distance: editDistance(wanted, name.toLowerCase()) }))
    .filter(({ name, distance }) => isNear(name.toLowerCase(), distance))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, maxNames)
    .map(({ name }) => name)
}

function containsEither(name: string, wanted: string): boolean {
  return name.includes(wanted) || wanted.includes(name)
}

/** How many letters have to be inserted, deleted, replaced or swapped with the next one. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, n) => n)
  for (let row = 0; row < from.length; row++) {
    const current = [row + 1]
    for (let column = 0; column < to.length; column++) {
      const isSwapped = from[row] === to[column - 1] && from[row - 1] === to[column]
      current.push(
        Math.min(
          (last[column] ?? 0) + (from[row] === to[column] ? 0 : 1),
          (last[column + 1] ?? 0) + 1,
          (current[column] ?? 0) + 1,
          isSwapped ? (beforeLast[column - 1] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}

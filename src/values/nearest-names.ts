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

/** How many letters have to be inserted, deleted or replaced (Levenshtein). */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, n) => n)
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1]
    for (let column = 0; column < to.length; column++) {
      const replaced = (previous[column] ?? 0) + (to[column] === letter ? 0 : 1)
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    previous = current
  }
  return previous[to.length] ?? 0
}

import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/**
 * The order of the files of a project on a machine that has not run them yet: large and small ones in turn. Large files mostly wait, for clocks and
 * processes, and small ones compute, so beside each other they keep all cores busy. Vitest would begin with all large files.
 */
export class InTurn extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const largestFirst = await super.sort(files)
    const ofProject = Map.groupBy(largestFirst, ({ project }) => project.name)
    return [...ofProject.values()].flatMap((those) =>
      those.map((_, i) => those.at(i % 2 === 0 ? i / 2 : -(i + 1) / 2) as TestSpecification),
    )
  }
}

import type { MessageKey } from "../i18n";

export interface Fact {
  key: string;
  word: MessageKey;
  type?: "date";
  choices?: { value: string; word: MessageKey }[];
}

const options = (choices: Record<string, MessageKey>) => Object.entries(choices).map(([value, word]) => ({ value, word }));

/** The fifteen facts of a persona's biography, by the server's names. */
export const FACTS: Fact[] = [
  { key: "full_name", word: "factFullName" },
  { key: "gender", word: "factGender", choices: options({ female: "female", male: "male", non_binary: "nonBinary" }) },
  { key: "birth_date", word: "factBirthDate", type: "date" },
  { key: "ethnicity", word: "factEthnicity" },
  { key: "nationality", word: "factNationality" },
  { key: "native_language", word: "factNativeLanguage" },
  { key: "locale_region", word: "factRegion" },
  {
    key: "education_level",
    word: "factEducation",
    choices: options({ high_school: "highSchool", bachelor: "bachelor", master: "master", phd: "doctorate" }),
  },
  { key: "occupation", word: "factOccupation" },
  { key: "occupation_field", word: "factField" },
  { key: "location", word: "factLocation" },
  { key: "timezone", word: "factTimezone" },
  {
    key: "relationship_status",
    word: "factRelationship",
    choices: options({ single: "single", married: "married", widowed: "widowed", divorced: "divorced" }),
  },
  {
    key: "life_stage",
    word: "factLifeStage",
    choices: options({
      student: "student",
      working: "working",
      retired: "retired",
      new_parent: "newParent",
      between_jobs: "betweenJobs",
    }),
  },
  {
    key: "health_status",
    word: "factHealth",
    choices: options({ healthy: "healthy", chronic_illness: "chronicIllness", recovering: "recovering", serious: "serious" }),
  },
];

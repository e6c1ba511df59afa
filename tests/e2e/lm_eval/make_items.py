"""The items of the task: what everybody knows, four choices each, made by us. Prints items.jsonl."""

import json

ITEMS = [
    ("The capital of France is", "Paris", "London", "Madrid", "Tokyo"),
    ("The opposite of hot is", "cold", "tall", "green", "early"),
    ("Bees make", "honey", "paper", "glass", "milk"),
    ("The color of the sky on a clear day is", "blue", "brown", "black", "pink"),
    ("A week has seven", "days", "years", "minutes", "friends"),
    ("To cut bread one uses a", "knife", "pillow", "candle", "sock"),
    ("Snow falls mostly in", "winter", "kitchens", "books", "August"),
    ("The first month of the year is", "January", "June", "Friday", "December"),
    ("Fish live in", "water", "trees", "sand", "clouds"),
    ("A baby cat is called a", "kitten", "puppy", "calf", "chick"),
    ("At night one can see the moon and the", "stars", "trains", "carpets", "onions"),
    ("The largest planet of the solar system is", "Jupiter", "Mars", "Mercury", "Pluto"),
    ("Rome is the capital of", "Italy", "Norway", "Canada", "India"),
    ("Two plus two is", "four", "nine", "zero", "twelve"),
    ("Doctors work in a", "hospital", "volcano", "drawer", "puddle"),
    ("When it rains, people open their", "umbrellas", "potatoes", "teeth", "wallets"),
    ("Ice is frozen", "water", "bread", "wood", "sugar"),
    ("The heart pumps", "blood", "air", "sand", "ink"),
    ("A triangle has three", "sides", "wheels", "names", "colors"),
    ("Romeo and Juliet was written by William", "Shakespeare", "Newton", "Mozart", "Columbus"),
    ("Cows eat", "grass", "iron", "glue", "pencils"),
    ("The sun rises in the", "east", "bathroom", "north", "evening"),
    ("A person who bakes bread is a", "baker", "pilot", "lawyer", "diver"),
    ("Spiders have eight", "legs", "wings", "tails", "houses"),
    ("The currency of Japan is the", "yen", "peso", "pound", "ruble"),
    ("Plants need sunlight and", "water", "music", "shoes", "salt"),
    ("The chemical symbol of gold is", "Au", "Fe", "O", "Cu"),
    ("The author put the book on the", "shelf", "river", "wind", "idea"),
    ("Light travels faster than", "sound", "itself", "time", "numbers"),
    ("The Great Wall is in", "China", "Brazil", "Egypt", "Texas"),
    ("Vegetarians do not eat", "meat", "carrots", "apples", "rice"),
    ("A dozen eggs are", "twelve", "six", "ten", "twenty"),
]

for number, (context, *choices) in enumerate(ITEMS):
    # The right choice moves, so that no place is the answer.
    place = number % len(choices)
    right = choices.pop(0)
    choices.insert(place, right)
    print(json.dumps({"context": context, "choices": choices, "answer": place}))
